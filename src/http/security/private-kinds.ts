/**
 * Hides the jobs of private kinds (`private: true`) from everybody but admins: such jobs are about data of single users, of which the team
 * sees only counts.
 *
 * Invariant: without the role admin, a job of a private kind is as a job that does not exist, for every route with the id of a job. Lists,
 * actions on many jobs, causes of failures and events leave the job out.
 */
import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { RetomaError } from '../../errors/errors.ts'
import type { EngineEvent } from '../../events/model/event.ts'
import type { Principal, Route } from '../route.ts'

/** The kinds whose jobs the principal does not see. */
export const hiddenKinds = (engine: Engine, { role }: Pick<Principal, 'role'>): readonly string[] =>
  role === 'admin'
    ? []
    : internalsOf(engine)
        .kinds()
        .filter(each => each.private)
        .map(({ kind }) => kind)

/** The same route; a route with the id of a job answers 404 for a job that the principal does not see. */
export const withoutHiddenJobs = (route: Route): Route =>
  route.path.startsWith('/api/v1/jobs/{id}')
    ? {
        ...route,
        async run(call) {
          const { id } = call.params as { id: string }
          const hidden = hiddenKinds(call.engine, call.who)
          if (hidden.length > 0 && hidden.includes((await internalsOf(call.engine).jobListed(id))?.kind ?? ''))
            throw new RetomaError('not_found', { what: 'job', id })
          return route.run(call)
        },
      }
    : route

/** The events of jobs of other kinds. The kind of a job that is gone is unknown: its events are left out too. */
export function withoutKinds(
  engine: Engine,
  events: ReturnType<Engine['events']>,
  hidden: readonly string[],
): AsyncIterable<EngineEvent> {
  const isShown = async ({ jobId }: EngineEvent) => {
    if (jobId === null) return true
    const kind = await kindOf(engine, jobId)
    return kind !== null && !hidden.includes(kind)
  }
  const shown: AsyncIterableIterator<EngineEvent> = {
    [Symbol.asyncIterator]: () => shown,
    async next() {
      for (;;) {
        const result = await events.next()
        if (result.done || (await isShown(result.value))) return result
      }
    },
    // Not an async generator: its return() would wait for the next event.
    return: async () => (await events.return?.()) ?? { done: true, value: undefined },
  }
  return shown
}

/** Kinds of the jobs of the last events, for all streams of an engine: each kind is read once. */
const known = new WeakMap<Engine, Map<string, Promise<string | null>>>()
const mostKnown = 1000

function kindOf(engine: Engine, job: string): Promise<string | null> {
  const kinds = known.get(engine) ?? new Map<string, Promise<string | null>>()
  known.set(engine, kinds)
  const found = kinds.get(job)
  if (found !== undefined) return found
  const reading = internalsOf(engine)
    .jobListed(job)
    .then(each => each?.kind ?? null)
  reading.catch(() => kinds.delete(job))
  kinds.set(job, reading)
  if (kinds.size > mostKnown) kinds.delete(kinds.keys().next().value!)
  return reading
}
