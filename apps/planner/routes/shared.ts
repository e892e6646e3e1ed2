/** Shared parts of the routes of the planner: ids, pages, and the lookup of a job. */
import { type Engine, localized, RetomaError } from 'retoma'
import { z } from 'zod'
import { type PlannerJob, readJob } from '../store/jobs.ts'

export const tag = 'planejador'

export const idParams = z.object({ id: z.string() })

export const pageQuery = {
  limit: z.coerce.number().int().min(1).max(500).default(50),
  after: z.string().max(200).optional().meta({ description: 'the `next` of the page before' }),
}

/** Any other text is no id. */
const isId = (id: string): boolean => /^[1-9]\d{0,17}$/.test(id)

const last = '9223372036854775807'

/** The start of a page. */
export function placeOf(after: string | undefined): string {
  if (after === undefined) return last
  if (isId(after)) return after
  throw new RetomaError('bad_request', {
    field: 'after',
    problem: localized('it is the next of an earlier list', 'é o next de uma lista anterior'),
  })
}

export async function jobOf(engine: Engine, id: string): Promise<PlannerJob> {
  const found = isId(id) ? await readJob(engine, id) : undefined
  if (found === undefined) throw noJob(id)
  return found
}

export const noJob = (id: string) =>
  new RetomaError('not_found', { what: localized('job of the planner', 'job do planejador'), id })
