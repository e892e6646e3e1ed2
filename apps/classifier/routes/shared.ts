/** What the classifier's routes have in common: ids, pages, and how one finds its execution. */
import { type Engine, isRetomaError, RetomaError, say } from 'retoma'
import type { Call } from 'retoma/http'
import { z } from 'zod'
import { type Runs, submitRun } from '../runs.ts'
import { type Execution, readExecution } from '../store/executions.ts'

export const tag = 'classificador'

export const idParams = z.object({ id: z.string() })

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

/** Of a list: only where it is true, for a list is `items` and `next`. */
export const markOf = { simulado: z.literal(true).optional() }
export const mark = (isSimulated: boolean) => (isSimulated ? ({ simulado: true } as const) : {})

export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().nullable(), ...markOf })

/** Any other text names nothing. */
export const isId = (id: string): boolean => /^[1-9]\d{0,17}$/.test(id)

const last = '9223372036854775807'

/** Where a page begins; `first`: of the first one. */
export function placeOf(after: string | undefined, first = last): string {
  if (after === undefined) return first
  if (isId(after)) return after
  throw new RetomaError('bad_request', {
    field: 'after',
    problem: say('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })
}

/** Of one more than was asked for: those, and where the next page begins. */
export function pageFrom<T>(found: readonly T[], limit: number, placeOf: (item: T) => string) {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? placeOf(items.at(-1)!) : null }
}

/** Of what is told of an execution: whether its answers are played, or, before there is any, would be. */
export const isPlayed = (runs: Runs, { simulado }: Pick<Execution, 'simulado'>): boolean => simulado ?? runs.isSimulated

/** 404 for what names none. One that is not submitted yet is submitted first. */
export async function executionOf({ engine, log }: Pick<Call, 'engine' | 'log'>, runs: Runs, id: string) {
  const found = await readHere(engine, id)
  if (found.lote_id !== null) return found
  await submitRun(engine, runs.classification, id).catch(error => {
    // There is a job that does it; what stands in the way may pass.
    if (isRetomaError(error) && error.status >= 500) throw error
    log.warn({ err: error, execution: id }, 'an execution could not be submitted yet')
  })
  return readHere(engine, id)
}

export async function readHere(engine: Engine, id: string): Promise<Execution> {
  const found = isId(id) ? await readExecution(engine, id, engine.clock.instant()) : undefined
  if (found === undefined) throw new RetomaError('not_found', { what: say('execution', 'execução'), id })
  return found
}

/** For what cannot be asked of one without a batch: what stands in the way of that is told. */
export async function batchOf(call: Pick<Call, 'engine' | 'log'>, runs: Runs, id: string): Promise<string> {
  const { lote_id: batch } = await executionOf(call, runs, id)
  if (batch !== null) return batch
  await submitRun(call.engine, runs.classification, id)
  return (await readHere(call.engine, id)).lote_id!
}
