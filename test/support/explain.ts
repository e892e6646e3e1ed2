/** Jobs, workers and batches in states that are hard to reach by waiting: some by the engine, the rest by hand. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import {
  defineBatch,
  defineJob,
  doNotRetry,
  type Engine,
  type ExplainSubject,
  hours,
  minutes,
  seconds,
  skip,
  snooze,
} from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { engineOf } from './engine.ts'

export type Ask = 'ok' | 'fail' | 'for good' | 'skip' | 'snooze' | 'sleep'

export const send = defineJob<{ do: Ask }>({
  kind: 'send',
  queue: 'mail',
  maxAttempts: 3,
  backoff: { first: seconds(60), factor: 2, max: minutes(10), jitter: 0 },
  timeout: minutes(10),
  stallAfter: minutes(5),
  expect: minutes(2),
  run: async (ctx, { do: ask }) => {
    if (ask === 'fail') throw new Error('SMTP said 451')
    if (ask === 'for good') throw doNotRetry('no such address')
    if (ask === 'skip') return skip('unsubscribed')
    if (ask === 'snooze') return snooze(minutes(7))
    if (ask === 'sleep') await ctx.sleep('cool down', hours(2))
    return 'sent'
  },
})
export const newsletter = defineBatch({ name: 'newsletter', job: send, maxResumes: 2 })

export interface Here extends TestEngine {
  sql<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  put(ask?: Ask, options?: Parameters<Engine['enqueue']>[2]): Promise<string>
  /** A worker that is alive now, unless said otherwise. */
  worker(id: string, more?: Record<string, unknown>): Promise<void>
  /** Held by that worker since so many seconds. */
  held(by: string, forSeconds?: number, more?: Record<string, unknown>): Promise<string>
  said(
    id: string | ExplainSubject,
  ): Promise<{ verdict: string; action: string; sentence: string; command: string | null }>
}

export async function here(options: Parameters<typeof engineOf>[0] = {}): Promise<Here> {
  const made = await engineOf({ jobs: [send], batches: [newsletter], ...options })
  const client = new pg.Client({ connectionString: made.databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const sql = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
  await sql(`update retoma.periodic_lease set at = $1 where name = 'watchdog'`, [made.clock.now()])
  const set = async (table: string, id: string, more: Record<string, unknown>) => {
    for (const [column, value] of Object.entries(more))
      await sql(`update retoma.${table} set ${column} = $2 where id = $1`, [id, value])
  }
  const self: Here = {
    ...made,
    sql: sql as Here['sql'],
    async put(ask = 'ok', options = {}) {
      return (await made.engine.enqueue(send, { do: ask }, options)).id
    },
    async worker(id, more = {}) {
      await sql(
        `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at)
         values ($1, 'host-a', 4711, '0', '{"mail":2}', '{send}', $2, $2)`,
        [id, made.clock.now()],
      )
      await set('worker', id, more)
    },
    async held(by, forSeconds = 1, more = {}) {
      const id = await self.put()
      const since = ago(self, forSeconds)
      await sql(`update retoma.job set state = 'running', attempt = 1, worker_id = $2, started_at = $3 where id = $1`, [
        id,
        by,
        since,
      ])
      await set('job', id, more)
      return id
    },
    async said(what) {
      const asked = typeof what === 'string' ? { job: what } : what
      const { verdict, sentence, advice } = await made.engine.explain(asked)
      return { verdict, action: advice.action, sentence, command: advice.command }
    },
  }
  return self
}

export const ago = (t: TestEngine, s: number) => new Date(t.clock.now().getTime() - s * 1000)
