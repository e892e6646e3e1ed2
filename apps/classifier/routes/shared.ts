/** Shared parts of the classifier's routes: ids, pages, and the lookup of an execution. */
import { type Engine, isRetomaError, localized, RetomaError } from 'retoma'
import type { Call } from 'retoma/http'
import { clockOf } from 'retoma/http'
import { z } from 'zod'
import { noExecution, type Runs, submitRun } from '../runs.ts'
import { type Execution, readExecution } from '../store/executions.ts'

export const tag = 'classificador'

export const idParams = z.object({ id: z.string() })

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

/** Only set if true, because a list has just `items` and `next`. */
export const markOf = { simulado: z.literal(true).optional() }
export const mark = (isSimulated: boolean) => (isSimulated ? ({ simulado: true } as const) : {})

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().nullable(), ...markOf })

/** Any other text is no id. */
export const isId = (id: string): boolean => /^[1-9]\d{0,17}$/.test(id)

const last = '9223372036854775807'

/** The start of a page; `first`: the start of the first page. */
export function placeOf(after: string | undefined, first = last): string {
  if (after === undefined) return first
  if (isId(after)) return after
  throw new RetomaError('bad_request', {
    field: 'after',
    problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })
}

/** Splits `limit` + 1 rows into the page and the start of the next page. */
export function pageFrom<T>(found: readonly T[], limit: number, placeOf: (item: T) => string) {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? placeOf(items.at(-1)!) : null }
}

/** True if the answers of the execution are simulated, or would be before the first answer. */
export const isPlayed = (runs: Runs, { simulado }: Pick<Execution, 'simulado'>): boolean => simulado ?? runs.isSimulated

/** 404 for an unknown id. An execution without a batch is submitted first. */
export async function executionOf({ engine, log }: Pick<Call, 'engine' | 'log'>, runs: Runs, id: string) {
  const found = await readHere(engine, id)
  if (found.lote_id !== null) return found
  await submitRun(engine, runs.classification, id).catch(error => {
    // A job submits the execution later; the problem may pass.
    if (isRetomaError(error) && error.status >= 500) throw error
    log.warn({ err: error, execution: id }, 'cannot submit an execution yet; trying again')
  })
  return readHere(engine, id)
}

export async function readHere(engine: Engine, id: string): Promise<Execution> {
  const found = isId(id) ? await readExecution(engine, id, clockOf(engine).instant()) : undefined
  if (found === undefined) throw noExecution(id)
  return found
}

/** For requests that need a batch: an error of the submit is thrown. */
export async function batchOf(call: Pick<Call, 'engine' | 'log'>, runs: Runs, id: string): Promise<string> {
  const { lote_id: batch } = await executionOf(call, runs, id)
  if (batch !== null) return batch
  await submitRun(call.engine, runs.classification, id)
  return (await readHere(call.engine, id)).lote_id!
}
