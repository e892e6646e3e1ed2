/** Services outside in the hands of a test, and jobs that ask them. */
import pg from 'pg'
import {
  type AnyJob,
  defineBatch,
  defineJob,
  type JobContext,
  providerStop,
  providerWait,
  seconds,
} from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'

const noBackoff = { first: seconds(0.001), factor: 1, max: seconds(1), jitter: 0 }

/** The provider answers with `says`, and records the instant of each request. */
export function service(says: (call: number) => unknown = () => 'ok') {
  const calls: string[] = []
  const service = {
    says,
    calls,
    ask(job: string): unknown {
      calls.push(job)
      const answer = service.says(calls.length)
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return service
}

export const jobAsking = (ask: (id: string, signal: AbortSignal) => unknown, more: object = {}): AnyJob =>
  defineJob({
    kind: 'ask',
    queue: 'q',
    maxAttempts: 2,
    backoff: noBackoff,
    ...more,
    run: (ctx: JobContext) => ctx.step('answer', () => ctx.provider('openrouter', signal => ask(ctx.id, signal))),
  })

export const batchOf = (job: AnyJob, more: object = {}) => defineBatch({ name: 'b', job, ...more })
export const items = (count: number) => Array.from({ length: count }, () => undefined)

export async function jobsOf({ engine }: TestEngine, batch: string) {
  return (await engine.batches.items(batch, { limit: 500 })).items
}

/** The clock moves on, and everything ticks. */
export async function passes(t: TestEngine, duration: Parameters<TestEngine['clock']['advance']>[0]): Promise<number> {
  await t.clock.advance(duration)
  await t.tick()
  return t.run()
}

export async function sqlOf<T = unknown>(t: TestEngine, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: t.databaseUrl })
  await client.connect()
  return client
    .query(text)
    .then(({ rows }) => rows as T[])
    .finally(() => client.end())
}

export const wait = (retryAfter?: number) =>
  providerWait({
    ...(retryAfter === undefined ? {} : { retryAfter: seconds(retryAfter) }),
    code: '429',
    message: 'slow down',
  })
export const stop = () => providerStop({ code: '402', message: 'Insufficient credits' })
