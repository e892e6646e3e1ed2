/** An erased job or batch is gone from every table, with its files; unreferenced files are removed without an erase. */

import { expect, test } from 'vitest'
import { internalsOf } from '../../src/engine/internals.ts'
import { days, defineBatch, defineJob, hours, seconds } from '../../src/index.ts'
import type { TestEngine } from '../../src/testing/index.ts'
import { engineOf, gate } from '../support/engine.ts'
import { webhook } from '../support/webhook.ts'

const secret = 'segredo-4711'
const mb = 1024 * 1024
const pdf = { name: `${secret}.pdf`, type: 'application/pdf' }

const job = defineJob<string>({
  kind: 'classify',
  maxAttempts: 1,
  async run(ctx, text) {
    await ctx.step('read', () => text)
    await ctx.progress({ note: text })
    ctx.log.info({ text }, text)
    await ctx.cost({ currency: 'USD', amount: '0.01' })
    if (text.includes('bad')) throw new Error(`cannot read ${text}`)
    return text
  },
})
const report = defineJob<{ batch: string }>({ kind: 'report', run: async ctx => ctx.step('told', () => secret) })
const batch = defineBatch({ name: 'execution', job, onComplete: report as never })

async function stage() {
  const hook = await webhook()
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.notify()
  return t
}

const put = ({ engine }: TestEngine, size = 10) => engine.files.put([Buffer.alloc(size, secret)], pdf)

/** A batch that is over, with everything a batch can leave behind. */
async function over(t: TestEngine) {
  const { engine } = t
  const { id } = await engine.submit(batch, [`${secret} a`, `${secret} b`, `${secret} bad`], {
    ref: text => `${text} ref`,
  })
  const items = (await engine.batches.items(id)).items.map(each => each.id)
  const files = [await put(t), await put(t, mb + 1), await put(t)].map(each => each.id)
  await engine.files.keep(files.slice(0, 2), { batch: id })
  await engine.files.keep(files.slice(2), { job: items[0]! })
  await t.run()
  await t.clock.advance(seconds(10))
  await t.tick()
  await t.notify()
  await t.run()
  expect((await engine.batch(id))!.state).toBe('completed_with_failures')
  return { id, items, files }
}

const rowsOf = async ({ engine }: TestEngine, text: string, values: unknown[] = []) =>
  (await engine.query<Record<string, unknown>>(text, values)).rows

/** Every row of every table that speaks of one of these, by a text or by a number. */
async function traces(t: TestEngine, ids: { batch: string; jobs: string[]; files: string[] }): Promise<string[]> {
  const columns = await rowsOf(
    t,
    `select c.relname as name, array_agg(a.attname::text) as columns from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'retoma'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
     group by 1 order by 1`,
  )
  const found: string[] = []
  for (const { name, columns: all } of columns as { name: string; columns: string[] }[]) {
    const numbers: Record<string, string[]> = {
      batch_id: [ids.batch],
      job_id: ids.jobs,
      file_id: ids.files,
      complete_job: ids.jobs,
      opened_job: ids.jobs,
      resolved_job: ids.jobs,
      ...({ batch: { id: [ids.batch] }, job: { id: ids.jobs }, file: { id: ids.files } }[name] ?? {}),
    }
    const tests = Object.entries(numbers)
      .filter(([column]) => all.includes(column))
      .map(([column, values]) => `${column}::text = any ('{${values.join(',')}}')`)
    const bytes = all.includes('bytes') ? [`position('${secret}'::bytea in bytes) > 0`] : []
    const some = [...tests, ...bytes, `t::text like '%${secret}%'`].join(' or ')
    const [row] = await rowsOf(t, `select count(*)::int as n from retoma.${name} t where ${some}`)
    if (Number(row!.n) > 0) found.push(`${name}: ${row!.n}`)
  }
  return found
}

test('an erased batch has left every table, with its jobs, steps, failures, events, files, notices and its report', async () => {
  const t = await stage()
  const { id, items, files } = await over(t)
  const others = await rowsOf(t, `select id::text from retoma.job where batch_id is null`)
  const ids = { batch: id, jobs: [...items, ...others.map(each => String(each.id))], files }
  const before = (await traces(t, ids)).map(each => each.split(':')[0])
  expect(before).toEqual(
    expect.arrayContaining([
      'batch',
      'batch_chunk',
      'batch_cost',
      'checkpoint',
      'event',
      'failure',
      'file',
      'file_chunk',
      'incident',
      'job',
      'job_cost',
    ]),
  )
  expect(others.length).toBeGreaterThanOrEqual(2)
  expect(await t.engine.batches.erase(id)).toEqual({ id, erased: true })
  expect(await traces(t, ids)).toEqual([])
  await t.clock.advance(seconds(10))
  await t.tick()
  await t.notify()
  expect(await traces(t, ids)).toEqual([])
})

test('its report goes with its files though it is just being written, and nothing of it lands afterwards', async () => {
  const [began, goOn] = [gate<string>(), gate()]
  const slow = defineJob({
    kind: 'report',
    queue: 'reports',
    async run(ctx) {
      began.open(ctx.id)
      await goOn.passed
      await ctx.step('told', () => secret)
      return secret
    },
  })
  const limits = { reports: { concurrency: 1 } }
  const t = await engineOf({ batches: [defineBatch({ name: 'execution', job, onComplete: slow as never })], limits })
  const { id } = await t.engine.submit(internalsOf(t.engine).batchNamed('execution'), [secret])
  const run = t.run()
  const complete = await began.passed
  const file = await put(t)
  await t.engine.files.keep([file.id], { job: complete })
  const erased = await t.engine.batches.erase(id)
  const opened = await t.engine.files.open(file.id)
  goOn.open()
  await run
  expect({ erased, opened }).toEqual({ erased: { id, erased: true }, opened: null })
  expect(await traces(t, { batch: id, jobs: [complete], files: [file.id] })).toEqual([])
  expect(await rowsOf(t, `select running from retoma.limit_counter where queue = 'reports'`)).toEqual([{ running: 0 }])
})

test('what belongs to others stays', async () => {
  const t = await stage()
  const [one, other] = [await over(t), await over(t)]
  const loose = await put(t)
  const counts = () =>
    rowsOf(
      t,
      `select (select count(*) from retoma.job where batch_id = $1)::int as jobs, (select count(*) from retoma.file)::int as files`,
      [other.id],
    )
  await t.engine.batches.erase(one.id)
  expect(await counts()).toEqual([{ jobs: 3, files: 4 }])
  expect((await t.engine.files.open(loose.id))?.id).toBe(loose.id)
  expect((await t.engine.batch(other.id))?.state).toBe('completed_with_failures')
})

test('it is repeated, by many at once, and where there is none, without an error', async () => {
  const t = await stage()
  const { id } = await over(t)
  const all = await Promise.all([1, 2, 3, 4].map(() => t.engine.batches.erase(id)))
  expect(all.filter(each => each.erased)).toHaveLength(1)
  expect(await t.engine.batches.erase(id)).toEqual({ id, erased: false })
  expect(await t.engine.batches.erase('nobody')).toEqual({ id: 'nobody', erased: false })
})

test('one that is not over is refused by its state, and stays', async () => {
  const t = await stage()
  const { id } = await t.engine.submit(batch, [secret])
  await expect(t.engine.batches.erase(id)).rejects.toMatchObject({
    code: 'batch_state',
    facts: { id, action: 'erase' },
  })
  expect((await t.engine.batch(id))?.total).toBe(1)
})

test('an erase whose process died after its first commit is finished by a tick and the janitor', async () => {
  const t = await stage()
  const { id, items, files } = await over(t)
  await t.engine.query(`update retoma.batch set cascade = 'prune', cascade_chunk = 0 where id = $1`, [id])
  expect(await t.engine.batch(id)).toBeNull()
  await t.tick()
  for (const each of files) expect(await t.engine.files.open(each)).toBeNull()
  await t.clean()
  expect(await traces(t, { batch: id, jobs: items, files: files })).not.toContainEqual(expect.stringMatching(/^file/))
})

/** A finished job without a batch, and its notice as a poison job. */
async function ended(t: TestEngine, text = `${secret} bad`, options = {}) {
  const { id } = await t.engine.enqueue(job, text, { key: secret, ...options })
  const file = await put(t, mb + 1)
  await t.engine.files.keep([file.id], { job: id })
  await t.run()
  const reported = await t.engine.enqueue(job, `of ${secret}`)
  await t.run()
  await t.engine.query(
    `insert into retoma.incident (event, subject, severity, facts, since, found_at, opened_job)
     values ('job.poison', $1, 'error', '{}', now(), now(), $2)`,
    [`job:${id}`, reported.id],
  )
  await t.engine.query(
    `insert into retoma.finding (verdict, subject, since, seen_at, facts) values ('slow', $1, now(), now(), $2)`,
    [`job:${id}`, { job: id, attempt: 1, ref: secret }],
  )
  return { id, jobs: [id, reported.id], files: [file.id] }
}

test('an erased job has left every table, with its steps, failures, events, files and notices', async () => {
  const t = await stage()
  const { id, jobs, files } = await ended(t)
  const before = (await traces(t, { batch: '0', jobs, files })).map(each => each.split(':')[0])
  const left = ['checkpoint', 'event', 'failure', 'file', 'file_chunk', 'finding', 'incident', 'job', 'job_cost']
  expect(before).toEqual(expect.arrayContaining(left))
  expect(await t.engine.jobs.erase(id)).toEqual({ id, erased: true })
  expect(await traces(t, { batch: '0', jobs, files })).toEqual([])
  await t.tick()
  await t.notify()
  await t.clean()
  expect(await traces(t, { batch: '0', jobs, files })).toEqual([])
})

test('an erased job is erased once, by many at once too, and where there is none, without an error', async () => {
  const t = await stage()
  const { id } = await ended(t)
  const all = await Promise.all([1, 2, 3, 4].map(() => t.engine.jobs.erase(id)))
  expect(all.filter(each => each.erased)).toHaveLength(1)
  expect(await t.engine.jobs.erase('nobody')).toEqual({ id: 'nobody', erased: false })
  expect(await t.engine.job(id)).toBeNull()
  await expect(t.engine.jobs.retry(id)).rejects.toMatchObject({ code: 'not_found' })
})

test('the key of an erased job makes another job, which knows nothing of it', async () => {
  const t = await stage()
  const { id } = await ended(t)
  await t.engine.jobs.erase(id)
  const next = await t.engine.enqueue(job, 'harmless', { key: secret })
  await t.run()
  expect(next.id).not.toBe(id)
  expect(await t.engine.job(next.id)).toMatchObject({
    state: 'succeeded',
    attempt: 1,
    failures: 0,
    result: 'harmless',
  })
})

test('a job that is not over, or goes on at that instant, is refused by its state and stays', async () => {
  const t = await stage()
  const { id } = await t.engine.enqueue(job, 'waits', { delay: hours(1) })
  await expect(t.engine.jobs.erase(id)).rejects.toMatchObject({
    code: 'wrong_state',
    status: 409,
    facts: { id, action: 'erase' },
  })
  const failed = await ended(t)
  const [retried, erased] = await Promise.allSettled([t.engine.jobs.retry(failed.id), t.engine.jobs.erase(failed.id)])
  expect([retried.status, erased.status].sort()).toEqual(['fulfilled', 'rejected'])
  expect((await t.engine.job(failed.id)) === null).toBe(erased.status === 'fulfilled')
  expect((await t.engine.job(id))?.state).toBe('waiting')
})

test('an item goes alone, with its name; its batch goes on counting it', async () => {
  const plain = defineBatch({ name: 'plain', job })
  const t = await engineOf({ batches: [plain] })
  const { id } = await t.engine.submit(plain, [`${secret} bad`, 'other'], { ref: text => text })
  const item = (await t.engine.batches.items(id)).items.find(each => each.ref === `${secret} bad`)!
  await t.run()
  await t.engine.query(`update retoma.batch_count set last_ref = $1`, [item.ref])
  expect(await t.engine.jobs.erase(item.id)).toEqual({ id: item.id, erased: true })
  expect(await traces(t, { batch: '0', jobs: [item.id], files: [] })).toEqual([])
  expect(await t.engine.batch(id)).toMatchObject({ state: 'completed_with_failures', total: 2, failed: 1 })
  expect(await t.engine.batches.retryFailed(id)).toMatchObject({ retried: 0, state: 'completed_with_failures' })
})

test('what the watchdog found of an item of an erased batch goes with it', async () => {
  const t = await stage()
  const { id, items } = await over(t)
  await t.engine.query(
    `insert into retoma.finding (verdict, subject, since, seen_at, facts) values ('slow', $1, now(), now(), $2)`,
    [`job:${items[0]}`, { job: items[0], attempt: 1, ref: secret }],
  )
  await t.engine.batches.erase(id)
  await t.tick()
  expect(await rowsOf(t, 'select subject from retoma.finding')).toEqual([])
  expect(await rowsOf(t, `select id from retoma.event where data::text like '%${secret}%'`)).toEqual([])
})

test('a file goes with its batch or its job when that is old', async () => {
  const t = await stage()
  const { files } = await over(t)
  const single = await t.engine.enqueue(job, 'single')
  const kept = await put(t)
  await t.engine.files.keep([kept.id], { job: single.id })
  await t.run()
  await t.clock.advance(days(89))
  await t.clean()
  for (const id of [...files, kept.id]) expect(await t.engine.files.open(id)).not.toBeNull()
  await t.clock.advance(days(2))
  await t.clean()
  await t.tick()
  await t.clean()
  expect(await rowsOf(t, 'select id from retoma.file')).toEqual([])
  expect(await rowsOf(t, 'select n from retoma.file_chunk')).toEqual([])
})

test('what nobody keeps goes after a day, and what broke off too; what is kept stays', async () => {
  const t = await stage()
  const [loose, kept] = [await put(t), await put(t)]
  await t.engine.query(`insert into retoma.file (name, type, size, created_at) values ('half', 'a/b', 0, $1)`, [
    new Date(t.clock.now()),
  ])
  const { id } = await t.engine.enqueue(job, 'x', { delay: days(300) })
  await t.engine.files.keep([kept.id], { job: id })
  await t.clock.advance(hours(23))
  await t.clean()
  expect(await rowsOf(t, 'select id from retoma.file')).toHaveLength(3)
  await t.clock.advance(hours(2))
  await t.clean()
  expect(await rowsOf(t, 'select id::text from retoma.file')).toEqual([{ id: kept.id }])
  expect(await t.engine.files.open(loose.id)).toBeNull()
})

test('a file of many pieces goes in chunks, and cannot be opened from the first on', async () => {
  const t = await stage()
  const { id } = await put(t, 10)
  await t.engine.query(
    `insert into retoma.file_chunk (file_id, n, bytes) select $1::bigint, n, 'x' from generate_series(1, 200) n`,
    [id],
  )
  expect(await t.engine.files.remove([id])).toBe(1)
  expect(await rowsOf(t, 'select file_id from retoma.file_chunk')).toEqual([])
  expect(await rowsOf(t, 'select id from retoma.file')).toEqual([])
})

test('a file goes with its job also when that is kept for less than a day', async () => {
  const t = await engineOf({ jobs: [job], retention: hours(1) })
  const kept = await put(t)
  const { id } = await t.engine.enqueue(job, 'short')
  await t.engine.files.keep([kept.id], { job: id })
  await t.run()
  await t.clock.advance(hours(2))
  await t.clean()
  expect(await rowsOf(t, 'select id from retoma.file')).toEqual([])
})
