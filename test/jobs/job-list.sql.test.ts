/** Lists by filter look at so many rows and no further, whatever is asked and however many are finished. */
import { expect, test } from 'vitest'
import type { Db, Statement } from '../../src/database/db.ts'
import { type JobFilter, listIds, listJobs } from '../../src/jobs/sql/job-list.ts'
import type { ListPage } from '../../src/lib/values/page.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

/** Every page of it; also how many pages those are. */
async function allOf(filter: JobFilter, limit = 50): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = []
  let pages = 0
  for (let after: string | undefined; ; ) {
    const page: ListPage<{ id: string }> = await listIds(store.db, filter, after, limit)
    ids.push(...page.items.map(job => job.id))
    pages++
    if (page.next === null) return { ids, pages }
    after = page.next
  }
}

const newestFirst = (ids: readonly string[]) => [...ids].sort((a, b) => Number(b) - Number(a))

/** The few that are not over lie behind more finished ones than a page looks at. */
async function fill() {
  const old = {
    waiting: await store.putMany(3, 'waiting'),
    running: await store.putMany(3, 'running'),
    stalled: await store.putMany(3, 'stalled'),
    failed: await store.putMany(3, 'failed'),
  }
  await store.sql(
    `insert into retoma.job (queue, kind, state, claim_rank, run_at, input, created_at, finished_at)
     select 'q', 'k', 'succeeded', 9, now(), '1', now(), now() from generate_series(1, 45000)`,
  )
  await store.sql(
    `insert into retoma.kind (name, queue, policy, updated_at) values ('k', 'q', '{}', now()), ('rare', 'q', '{}', now())`,
  )
  await store.sql('vacuum analyze retoma.job')
  return old
}

test('what is not over, or failed, is found at once behind any number of finished jobs', async () => {
  const old = await fill()
  for (const [state, ids] of Object.entries(old)) {
    const filter = { state: state as keyof typeof old }
    expect(
      (await listIds(store.db, filter, undefined, 50)).items.map(job => job.id),
      state,
    ).toEqual(newestFirst(ids))
    expect((await allOf(filter, 2)).ids, state).toEqual(newestFirst(ids))
    expect((await allOf({ ...filter, kind: 'rare' })).ids, state).toEqual([])
    expect((await allOf({ ...filter, queue: 'q', kind: 'k' })).ids, state).toEqual(newestFirst(ids))
  }
})

test('a filter that nothing matches is answered page by page, each empty, and comes to an end', async () => {
  await fill()
  const first = await listJobs(store.db, { kind: 'rare' }, undefined, 50)
  expect(first).toEqual({ items: [], next: expect.any(String) })
  expect(await allOf({ kind: 'rare' })).toEqual({ ids: [], pages: 5 })
  expect(await allOf({ state: 'cancelled' })).toEqual({ ids: [], pages: 5 })
  // A kind that nobody ever brought is not looked for.
  expect(await allOf({ kind: 'unheard' })).toEqual({ ids: [], pages: 1 })
})

test('page by page every job comes once, newest first', async () => {
  const old = await fill()
  const { ids } = await allOf({ state: 'succeeded' }, 500)
  expect(ids).toHaveLength(45_000)
  expect(ids).toEqual(newestFirst(ids))
  expect((await allOf({}, 500)).ids).toHaveLength(45_000 + Object.values(old).flat().length)
})

test('more waiting jobs than are sorted come all the same, page by page', async () => {
  await store.putMany(6000, 'waiting')
  await fill()
  expect((await allOf({ state: 'waiting' }, 500)).ids).toHaveLength(6003)
})

test('no list reads more rows than it may', async () => {
  await fill()
  const filters: JobFilter[] = [
    {},
    { state: 'failed', kind: 'rare' },
    { state: 'stalled' },
    { state: 'running' },
    { state: 'waiting' },
    { state: 'cancelled' },
    { kind: 'rare' },
    { ref: 'none' },
    { key: 'none' },
  ]
  for (const filter of filters) {
    const sent: { statement: Statement; values: unknown[] }[] = []
    const run: Db['run'] = async (statement, values) => {
      sent.push({ statement, values })
      return store.db.run(statement, values)
    }
    await listJobs({ ...store.db, run }, filter, undefined, 50)
    for (const { statement, values } of sent) {
      const plan = await store.db.transaction(async client => {
        const { rows } = await client.query(`explain (analyze, format json, timing off) ${statement.text}`, values)
        return JSON.stringify(rows)
      })
      const most = Math.max(...[...plan.matchAll(/"Actual Rows":(\d+(?:\.\d+)?)/g)].map(match => Number(match[1])))
      const thrown = Math.max(
        0,
        ...[...plan.matchAll(/"Rows Removed by Filter":(\d+)/g)].map(match => Number(match[1])),
      )
      expect(most, statement.name).toBeLessThanOrEqual(10_000)
      expect(thrown, statement.name).toBeLessThanOrEqual(10_000)
      expect(plan, statement.name).not.toMatch(/"Seq Scan"[^{}]*"Relation Name":"job"/)
    }
  }
})

test('failed jobs are found by their own index, also by a plan made while there were none', async () => {
  const sent: Statement[] = []
  const run: Db['run'] = async statement => {
    sent.push(statement)
    return []
  }
  await listJobs({ ...store.db, run }, { state: 'failed' }, undefined, 50)
  const plan = await store.db.transaction(async client => {
    const values = ['1', 'failed', null, null, null, null, null, 51, null, null, []]
    const { rows } = await client.query(`explain ${sent[0]!.text}`, values)
    return JSON.stringify(rows)
  })
  expect(plan).toContain('using job_failed')
  expect(plan).not.toContain('using job_pkey')
})

test('each filter leaves out what it does not name, in every state, and all filters hold at once', async () => {
  await store.sql(
    `insert into retoma.kind (name, queue, policy, updated_at) values ('k', 'q', '{}', now()), ('k2', 'q', '{}', now())`,
  )
  for (const state of ['waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled'] as const) {
    const all = await store.putMany(6, state)
    const [plain, ...others] = newestFirst(all).reverse()
    const [kind, queue, group, ref, late] = others
    await store.sql(
      `update retoma.job set group_key = 'g', ref = 'r', created_at = '2029-01-01', key = 'x' || id, unique_until = 'day' where id = any ($1)`,
      [all],
    )
    await store.sql(`update retoma.job set kind = 'k2' where id = $1`, [kind])
    await store.sql(`update retoma.job set queue = 'q2' where id = $1`, [queue])
    await store.sql(`update retoma.job set group_key = 'g2' where id = $1`, [group])
    await store.sql(`update retoma.job set ref = 'r2' where id = $1`, [ref])
    await store.sql(`update retoma.job set created_at = '2031-01-01' where id = $1`, [late])
    const without = (left: string | undefined) => newestFirst(all.filter(id => id !== left))
    const filters: [JobFilter, string[]][] = [
      [{ kind: 'k' }, without(kind)],
      [{ queue: 'q' }, without(queue)],
      [{ groupKey: 'g' }, without(group)],
      [{ ref: 'r' }, without(ref)],
      [{ createdBefore: new Date('2030-01-01') }, without(late)],
      [{ key: `x${ref}` }, [ref!]],
      [{ key: `x${ref}`, ref: 'r' }, []],
      [{ kind: 'k', queue: 'q', groupKey: 'g', ref: 'r', createdBefore: new Date('2030-01-01') }, [plain!]],
    ]
    for (const [filter, expected] of filters)
      expect((await allOf({ ...filter, state }, 2)).ids, `${state} ${JSON.stringify(filter)}`).toEqual(expected)
    await store.sql('delete from retoma.job')
  }
})
