/** Jobs of handler.mjs, and where they are. */
import { defineJob, type Engine, type Isolation, type JobOptions } from '../../src/index.ts'
import { until } from '../support/engine.ts'

const handler = new URL('./handler.mjs', import.meta.url)

/** What handler.mjs is to do. */
export interface Told {
  do: string
  note?: string
}

export const jobIn = (isolation: Isolation, options: Partial<JobOptions> = {}) =>
  defineJob<Told>({
    kind: `in-${isolation}`,
    handler,
    isolation,
    maxAttempts: 3,
    backoff: { first: 1 as never, factor: 1, jitter: 0 },
    ...options,
  })

export type TestJob = ReturnType<typeof jobIn>

/** Where its handler is, once it has begun. */
export async function begun(engine: Engine, id: string): Promise<{ at: string; pid: number }> {
  let at: string | undefined
  await until(async () => {
    at = ((await engine.job(id))?.progress as { note?: string } | null)?.note
    return at !== undefined
  })
  return { at: at!, pid: Number(at!.split('/')[0]) }
}
