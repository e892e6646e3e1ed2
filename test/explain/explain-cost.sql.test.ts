/** The cost of an explanation does not grow with the number of waiting jobs. */
import { expect, test } from 'vitest'
import type { Db, Statement } from '../../src/database/db.ts'
import { explainBatchFacts } from '../../src/explain/sql/batch-facts.ts'
import { explainJobFacts } from '../../src/explain/sql/job-facts.ts'
import { explainQueueFacts } from '../../src/explain/sql/queue-facts.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
  Plans?: Plan[]
}

/** What the last statement of `work` touches: pages in all, jobs, and whether it reads all of them. */
async function costOf(work: (db: Db) => Promise<unknown>): Promise<{ pages: number; jobs: number; whole: boolean }> {
  let sent: { statement: Statement; values: unknown[] } | undefined
  const run = async <Row>(statement: Statement, values: unknown[]) => {
    sent = { statement, values }
    return store.db.run<Row>(statement, values)
  }
  await work({ ...store.db, run })
  return store.db.transaction(async client => {
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${sent!.statement.text}`, sent!.values)
    const [{ Plan: top }] = (rows as { 'QUERY PLAN': [{ Plan: Plan }] }[])[0]!['QUERY PLAN']
    const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)]
    const reads = all(top).filter(node => node['Relation Name'] === 'job')
    const touched = (node: Plan) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    return {
      pages: top['Shared Hit Blocks'] + top['Shared Read Blocks'],
      jobs: reads.reduce((sum, node) => sum + touched(node), 0),
      whole: reads.some(node => node['Node Type'] === 'Seq Scan'),
    }
  })
}

const many = 40_000

test('the first, the middle and the last of many that wait at the same instant are found without reading the rest', async () => {
  await store.sql(`insert into retoma.queue (name) values ('q')`)
  await store.worker('w')
  const ids = await store.putMany(many, 'waiting')
  await store.sql(`vacuum analyze retoma.job`)
  for (const [place, most] of [
    [0, 150],
    [many / 2, 1500],
    [many - 1, 1500],
  ] as const) {
    const { pages, whole } = await costOf(db => explainJobFacts(db, ids[place]!, at(1)))
    expect(whole).toBe(false)
    expect(pages).toBeLessThan(most)
  }
  const facts = await explainJobFacts(store.db, ids[0]!, at(1))
  expect(facts!.ahead).toEqual({ jobs: 0, more: false })
  expect((await explainJobFacts(store.db, ids[500]!, at(1)))!.ahead).toEqual({ jobs: 500, more: false })
  expect((await explainJobFacts(store.db, ids[many - 1]!, at(1)))!.ahead).toEqual({ jobs: 10_000, more: true })
})

test('neither are a queue and a batch with many that wait, gated or not', async () => {
  await store.sql(`insert into retoma.queue (name) values ('q')`)
  await store.worker('w')
  await store.putMany(many, 'waiting')
  await store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
     values (nextval('retoma.job_id_seq'), 'b', 'k', 'q', '{"maxResumes":3}', 'running', 4, $1, $2, $2)`,
    [many, at(0)],
  )
  const [batch] = await store.sql<{ id: string }>(
    `update retoma.job set batch_id = (select id from retoma.batch) returning batch_id as id`,
  )
  for (const gated of [false, true]) {
    await store.sql(`update retoma.job set limited = $1, limit_key = case when $1 then (id % 500)::text else '' end`, [
      gated,
    ])
    await store.sql(`vacuum analyze retoma.job`)
    for (const work of [
      (db: Db) => explainQueueFacts(db, 'q', at(1)),
      (db: Db) => explainBatchFacts(db, batch!.id, at(1)),
    ]) {
      const { jobs, whole } = await costOf(work)
      expect(whole).toBe(false)
      expect(jobs).toBeLessThan(35_000)
    }
  }
  const facts = await explainBatchFacts(store.db, batch!.id, at(1))
  expect(facts).toMatchObject({ ready: 10_000, later: 0, seenAll: false, waiting: many })
})
