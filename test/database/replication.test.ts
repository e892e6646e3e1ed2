/** A primary server is lost for good, and its synchronous replica takes over. */
import { expect, onTestFinished, test } from 'vitest'
import { createEngine, defineJob } from '../../src/index.ts'
import { until } from '../support/engine.ts'
import { replicatedServer } from '../support/replication.ts'

test('the primary is killed and its synchronous replica promoted: every job whose enqueue was acknowledged is there, and runs', async () => {
  const { url, primary, replica, cutReplication, failOver } = await replicatedServer()
  const ran = new Set<number>()
  const job = defineJob<{ n: number }>({ kind: 'k', queue: 'q', run: (_, { n }) => void ran.add(n) })
  const engine = await createEngine({ databaseUrl: url, jobs: [job] })
  onTestFinished(() => engine.close())

  const acknowledged = new Map<string, number>()
  const refused: unknown[] = []
  let next = 0
  let over = false
  const caller = async () => {
    while (!over) {
      const n = next++
      try {
        acknowledged.set((await engine.enqueue(job, { n })).id, n)
      } catch (error) {
        refused.push(error)
      }
    }
  }
  const callers = Array.from({ length: 4 }, caller)
  await until(() => acknowledged.size >= 100)

  // What the primary writes from here on reaches nobody else, so no commit of it may be acknowledged.
  cutReplication()
  const waiting = `select from pg_stat_activity where wait_event = 'SyncRep'`
  await until(async () => (await primary.sql(waiting)).length > 0)
  const before = acknowledged.size
  await primary.kill()
  await failOver()
  await until(() => acknowledged.size >= before + 100)
  over = true
  await Promise.all(callers)

  const there = await replica.sql<{ id: string; n: number }>(
    `select id::text as id, (input ->> 'n')::int as n from retoma.job`,
  )
  const found = new Map(there.map(each => [each.id, each.n]))
  const lost = [...acknowledged].filter(([id, n]) => found.get(id) !== n)
  expect(lost).toEqual([])
  for (const error of refused) expect(error).toMatchObject({ code: 'database_unreachable' })
  await engine.work({ queues: { q: 20 } })
  await until(async () => (await engine.jobs.list({ state: 'waiting', limit: 1 })).items.length === 0)
  await until(() => [...acknowledged.values()].every(n => ran.has(n)))
})
