/** A person gets a notice: once when it begins and once when it is over, whatever the webhook and the processes do meanwhile. */
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { presets } from '../../apps/presets.ts'
import { defineBatch, defineJob, hours, minutes, providerStop, seconds } from '../../src/index.ts'
import { type TestEngine, type TestEngineOptions, testEngine } from '../../src/testing/index.ts'
import { aborted, engineOf, gate, liveEngine, shareDatabase, until } from '../support/engine.ts'
import { answerWith, webhook } from '../support/webhook.ts'

const secret = 'whsec-0123456789abcdef'
const link = 'https://retoma.example.com/'

/** A batch whose items end as their input says; an item with hang in its input hangs until its signal. */
function batchOf(
  how: { hang: boolean },
  given: { notify?: ('stalled' | 'failed' | 'paused' | 'succeeded')[]; maxResumes?: number } = {},
) {
  const job = defineJob<string>({
    kind: 'classify',
    queue: 'q',
    timeout: hours(2),
    maxAttempts: 1,
    run: async (ctx, name) => {
      if (name === 'bad') throw new Error('unreadable')
      if (how.hang) throw await aborted(ctx.signal)
      return name
    },
  })
  return defineBatch({ ...presets.classification, name: 'execution', job, ...given })
}

const sql = ({ databaseUrl }: TestEngine, text: string, values: unknown[] = []): Promise<void> =>
  query(databaseUrl, text, values)

async function query(url: string, text: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(text, values).finally(() => client.end())
}

/** Another process on the same database, at the same instant. */
async function beside(t: TestEngine, options: TestEngineOptions): Promise<TestEngine> {
  const other = await testEngine({ ...options, databaseUrl: t.databaseUrl, start: t.clock.now() })
  onTestFinished(() => other.close())
  return other
}

/** Lets time pass, and what is found be posted. */
async function pass(t: TestEngine, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await t.clock.advance(seconds(10))
    await t.tick()
    await t.notify()
  }
}

const starve = (t: TestEngine) =>
  sql(
    t,
    `insert into retoma.finding (verdict, subject, since, seen_at, facts)
     values ('starved', 'queue:q/kind:k', now(), now(), '{"queue":"q","kind":"k","jobs":3,"noWorker":false}')`,
  )

/** Looks as time passes; the watchdog does not, since it would find that what the test says is not so. */
async function checks(t: TestEngine, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await t.clock.advance(seconds(30))
    await t.notify()
  }
}

test('a batch that stalls is reported once, with a sentence, a link and a signature, and once more when it is resumed', async () => {
  const hook = await webhook()
  const how = { hang: true }
  const batch = batchOf(how)
  const t = await engineOf({ batches: [batch], notify: { url: hook.url, secret, link } })
  await t.engine.work({ queues: { q: 2 } })
  const { id } = await t.engine.submit(batch, ['a', 'b'])
  await until(async () => {
    await t.clock.advance(seconds(5))
    return (await t.engine.batch(id))?.state === 'stalled'
  })
  await until(async () => {
    await t.clock.advance(seconds(5))
    return hook.posts.length > 0
  })
  await t.clock.advance(minutes(2))
  expect(hook.events()).toEqual(['batch.stalled'])
  const { notice, body, headers } = hook.posts[0]!
  expect(notice).toEqual({
    event: 'batch.stalled',
    severity: 'critical',
    sentence: `Batch ${id} (execution) is stalled at 0/2: nothing of it has ended for too long. See why, then resume it.`,
    link: `https://retoma.example.com/api/v1/batches/${id}/explain`,
    facts: expect.objectContaining({ batch: id, subject: `batch:${id}`, incident: expect.any(String), total: 2 }),
  })
  expect(notice.facts.since).toMatch(/^\d{4}-.*Z$/)
  const time = headers['x-retoma-timestamp'] as string
  expect(headers['x-retoma-signature']).toBe(
    `v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`,
  )
  how.hang = false
  await t.engine.batches.resume(id)
  await until(async () => {
    await t.clock.advance(seconds(5))
    return hook.posts.length === 3
  })
  expect(hook.events().sort()).toEqual(['batch.stalled', 'batch.stalled.cleared', 'batch.succeeded'])
  const cleared = hook.posts.find(each => each.notice.event === 'batch.stalled.cleared')!.notice
  expect(cleared).toMatchObject({ severity: 'info', facts: { incident: notice.facts.incident } })
  await t.clock.advance(minutes(2))
  expect(hook.posts).toHaveLength(3)
})

test('a batch that is given up is shown as failed, and over when its failed items run again', async () => {
  const hook = await webhook()
  const how = { hang: true }
  const batch = batchOf(how, { maxResumes: 0 })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.engine.work({ queues: { q: 1 } })
  const { id } = await t.engine.submit(batch, ['a'])
  const found2 = (event: string) =>
    until(async () => {
      await t.clock.advance(seconds(5))
      return hook.events().includes(event)
    })
  await found2('batch.failed')
  expect(await t.engine.batch(id)).toMatchObject({ state: 'failed' })
  const { notice } = hook.posts.find(each => each.notice.event === 'batch.failed')!
  expect(notice).toMatchObject({ severity: 'critical', facts: { batch: id, total: 1 } })
  how.hang = false
  await t.engine.batches.retryFailed(id)
  await found2('batch.failed.cleared')
  await found2('batch.succeeded')
  await t.clock.advance(minutes(2))
  expect(hook.events().filter(each => each.startsWith('batch.failed'))).toEqual([
    'batch.failed',
    'batch.failed.cleared',
  ])
})

test('a batch tells only what it asks for', async () => {
  const hook = await webhook()
  const quiet = batchOf({ hang: false }, { notify: ['stalled'] })
  const t = await engineOf({ batches: [quiet], notify: { url: hook.url } })
  await t.notify()
  await t.engine.submit(quiet, ['a'])
  await t.run()
  await pass(t, 3)
  expect(await t.run()).toBe(0)
  expect(hook.posts).toEqual([])
})

test('a batch is shown by what people know it by, with a link to where they look at it', async () => {
  const hook = await webhook()
  const batch = batchOf({ hang: false })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url, link, language: 'pt' } })
  await t.notify()
  const about = { label: { en: 'execution 7', pt: 'execução 7' }, path: '/execucoes/7/status-detalhado' }
  const { id } = await t.engine.submit(batch, ['a'], { about })
  await t.run()
  await pass(t, 3)
  await t.run()
  expect(hook.posts.map(each => each.notice)).toMatchObject([
    {
      sentence: `O lote ${id} (execução 7) foi concluído: 1 de 1.`,
      link: `${link}execucoes/7/status-detalhado`,
      facts: { about },
    },
  ])
})

test('that a batch is done is shown with its errors, unsigned without a secret, and nothing of what was before the first check', async () => {
  const hook = await webhook()
  const batch = batchOf({ hang: false })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.engine.submit(batch, ['old'])
  await t.run()
  await t.clock.advance(hours(1))
  await t.notify()
  const { id } = await t.engine.submit(batch, ['a', 'bad'])
  await t.run()
  await pass(t, 3)
  await t.run()
  expect(hook.posts.map(each => [each.notice.event, each.notice.sentence, each.notice.link])).toEqual([
    ['batch.completed_with_failures', `Batch ${id} (execution) is done with errors: 1 of 2 failed.`, null],
  ])
  expect(hook.posts[0]!.headers['x-retoma-signature']).toBeUndefined()
  await pass(t, 150)
  await t.run()
  expect(hook.posts).toHaveLength(1)
})

test('a batch that stops itself is reported, one that a person pauses is not', async () => {
  const hook = await webhook()
  const { job, name } = batchOf({ hang: false })
  const batch = defineBatch({ name, job, stopAfter: { failures: 1 } })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.notify()
  // What is not due yet cannot end before the failure has stopped it.
  const { id } = await t.engine.submit(batch, ['bad', 'good'], {
    each: item => (item === 'bad' ? {} : { delay: minutes(5) }),
  })
  const other = await t.engine.submit(batch, ['a'])
  await t.engine.batches.pause(other.id)
  await t.run()
  expect(await t.engine.batch(id)).toMatchObject({ state: 'paused' })
  await pass(t, 2)
  await t.run()
  expect(hook.events()).toEqual(['batch.paused'])
  expect(hook.posts[0]!.notice).toMatchObject({
    severity: 'warning',
    facts: { batch: id, reason: { code: 'stop_after' } },
  })
})

test('a batch that its provider stops is shown in its words, and over when it goes on by itself', async () => {
  const hook = await webhook()
  let answer: Error | undefined = providerStop({ code: '402', message: 'Insufficient credits' })
  const job = defineJob({
    kind: 'ask',
    queue: 'q',
    run: ctx =>
      ctx.provider('openrouter', () => {
        if (answer !== undefined) throw answer
      }),
  })
  const batch = defineBatch({ name: 'b', job })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.notify()
  const { id } = await t.engine.submit(batch, [undefined, undefined])
  await t.run()
  await pass(t, 2)
  await t.run()
  expect(hook.events()).toEqual(['batch.paused'])
  expect(hook.posts[0]!.notice).toMatchObject({
    sentence: expect.stringContaining('openrouter: Insufficient credits.'),
    facts: { batch: id, reason: { code: 'provider', provider: 'openrouter', message: 'Insufficient credits' } },
  })
  answer = undefined
  for (let minute = 0; minute < 3; minute++) {
    await pass(t, 7)
    await t.run()
  }
  expect(await t.engine.batch(id)).toMatchObject({ state: 'succeeded' })
  expect(hook.events()).toEqual(['batch.paused', 'batch.paused.cleared', 'batch.succeeded'])
})

test('a queue nobody takes is reported, by the process that watches when no worker is left, and over a minute after it is taken again', async () => {
  const hook = await webhook()
  const job = defineJob({ kind: 'mail', queue: 'mail', run: () => 1 })
  const t = await engineOf({ jobs: [job], notify: { url: hook.url } })
  t.engine.watch()
  await t.engine.enqueue(job, undefined)
  await until(async () => {
    await t.clock.advance(seconds(5))
    return hook.posts.length > 0
  })
  expect(hook.posts[0]!.notice).toMatchObject({
    event: 'queue.starved',
    severity: 'critical',
    sentence: expect.stringContaining('no worker is alive that takes this queue'),
    facts: { queue: 'mail', kinds: ['mail'], jobs: 1, no_worker: true },
  })
  await t.engine.work({ queues: { mail: 1 } })
  await t.clock.advance(seconds(65))
  expect(hook.events()).toEqual(['queue.starved'])
  await until(async () => {
    await t.clock.advance(seconds(5))
    return hook.posts.length > 1
  })
  expect(hook.events()).toEqual(['queue.starved', 'queue.starved.cleared'])
})

test('what comes back within a minute never went: one incident, one notice', async () => {
  const hook = await webhook()
  const t = await engineOf({ notify: { url: hook.url } })
  await t.notify()
  for (let i = 0; i < 5; i++) {
    await starve(t)
    await checks(t, 1)
    await sql(t, `delete from retoma.finding`)
    await checks(t, 1)
  }
  await t.run()
  expect(hook.events()).toEqual(['queue.starved'])
  await checks(t, 2)
  await t.run()
  expect(hook.events()).toEqual(['queue.starved', 'queue.starved.cleared'])
  await starve(t)
  await checks(t, 1)
  await t.run()
  expect(hook.events()).toHaveLength(3)
})

test('a job that failed as poison is reported, and over when a person retries it', async () => {
  const hook = await webhook()
  const job = defineJob({ kind: 'k', maxAttempts: 1, run: () => Promise.reject(new Error('boom')) })
  const t = await engineOf({ jobs: [job], notify: { url: hook.url } })
  await t.notify()
  const { id } = await t.engine.enqueue(job, undefined)
  await t.run()
  await sql(t, `update retoma.job set error = error || '{"code":"poison"}' where id = $1`, [id])
  await pass(t, 3)
  await t.run()
  expect(hook.posts.map(each => each.notice)).toMatchObject([
    { event: 'job.poison', severity: 'warning', facts: { job: id, kind: 'k', message: 'boom' } },
  ])
  await t.engine.jobs.retry(id)
  await pass(t, 1)
  await t.run()
  expect(hook.events()).toEqual(['job.poison', 'job.poison.cleared'])
})

test('a notice that failed as poison makes no notice of itself', async () => {
  const hook = await webhook()
  hook.answers(answerWith(410))
  const { t, job } = await oneIncident(hook.url)
  for (let i = 0; i < 3; i++) {
    await t.run()
    await t.clock.advance(minutes(1))
  }
  expect(await t.engine.job(job)).toMatchObject({ state: 'failed' })
  await sql(t, `update retoma.job set error = error || '{"code":"poison"}' where id = $1`, [job])
  await pass(t, 3)
  expect((await t.engine.jobs.list({ kind: 'retoma.notify' })).items).toHaveLength(1)
})

test('of one event ten notices go out in ten minutes, and then how many there are besides', async () => {
  const hook = await webhook()
  const batch = batchOf({ hang: false })
  const t = await engineOf({ batches: [batch], notify: { url: hook.url } })
  await t.notify()
  for (let i = 0; i < 25; i++) await t.engine.submit(batch, ['a'])
  await t.run()
  await pass(t, 3)
  await t.run()
  expect(hook.posts).toHaveLength(11)
  expect(hook.posts.at(-1)!.notice).toMatchObject({ event: 'batch.succeeded', facts: { more: 15 } })
  await t.clock.advance(minutes(21))
  await pass(t, 2)
  await t.engine.submit(batch, ['a'])
  await t.run()
  await pass(t, 2)
  await t.run()
  expect(hook.posts).toHaveLength(12)
})

test('more than ten stuck jobs are shown as one, those of a batch that stalled aside; ten are not', async () => {
  const hook = await webhook()
  const job = defineJob({ kind: 'k', queue: 'mine', run: () => 1 })
  const t = await engineOf({ jobs: [job], notify: { url: hook.url } })
  await t.notify()
  await t.engine.enqueueMany(
    job,
    Array.from({ length: 11 }, () => undefined),
  )
  await sql(t, `update retoma.job set state = 'stalled' where id in (select id from retoma.job order by id limit 10)`)
  await pass(t, 2)
  await t.run()
  expect(hook.events()).toEqual([])
  await sql(t, `update retoma.job set state = 'stalled', finished_at = null`)
  await pass(t, 2)
  await t.run()
  expect(hook.posts.map(each => each.notice)).toMatchObject([{ event: 'jobs.stuck', facts: { stuck: 11 } }])
})

test('a watchdog that does not check is reported by the process that looks for incidents; one that only just started does not cry', async () => {
  const hook = await webhook()
  const t = await engineOf({ notify: { url: hook.url } })
  await t.tick()
  await t.clock.advance(hours(8))
  const later = await beside(t, { notify: { url: hook.url } })
  await later.notify()
  await later.run()
  expect(hook.posts).toEqual([])
  await later.tick()
  for (let i = 0; i < 14; i++) {
    await later.clock.advance(seconds(5))
    await later.notify()
  }
  await later.run()
  expect(hook.posts.map(each => each.notice)).toMatchObject([
    { event: 'watchdog.late', severity: 'critical', facts: { seconds: 70 } },
  ])
  await pass(later, 14)
  await later.run()
  expect(hook.events()).toEqual(['watchdog.late', 'watchdog.late.cleared'])
})

/** One incident, found and not yet posted. */
async function oneIncident(url: string) {
  const batch = batchOf({ hang: false })
  const t = await engineOf({ batches: [batch], notify: { url, secret } })
  await t.notify()
  await t.engine.submit(batch, ['a'])
  await t.run()
  await pass(t, 1)
  const [notice] = (await t.engine.jobs.list({ kind: 'retoma.notify' })).items
  return { t, job: notice!.id }
}

test('a webhook that answers 500 is asked again, later each time, for a day; nothing is lost in an outage of hours', async () => {
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(answerWith(500))
  for (let i = 0; i < 30; i++) {
    await t.run()
    await t.clock.advance(minutes(17))
  }
  expect(await t.engine.job(job)).toMatchObject({ state: 'waiting' })
  expect(hook.posts.length).toBeGreaterThan(25)
  expect(new Set(hook.posts.map(each => each.headers['x-retoma-delivery']))).toEqual(new Set([job]))
  expect(new Set(hook.posts.map(each => each.body)).size).toBe(1)
  hook.answers(answerWith(200))
  await t.run()
  expect(await t.engine.job(job)).toMatchObject({ state: 'succeeded' })
})

test('one that asks for time gets it, to the second, and no try is spent; one that refuses is given up after three', async () => {
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(answerWith(429, { 'retry-after': '120' }), answerWith(404))
  await t.run()
  expect(await t.engine.job(job)).toMatchObject({ state: 'waiting', failures: 0 })
  await t.clock.advance(seconds(119))
  expect(await t.run()).toBe(0)
  for (let i = 0; i < 5; i++) {
    await t.clock.advance(minutes(1))
    await t.run()
  }
  expect(hook.posts).toHaveLength(1 + 3)
  const given = await t.engine.job(job)
  expect(given).toMatchObject({ state: 'failed', error: { code: 'notify_failed' } })
  expect(JSON.stringify(given)).not.toMatch(/T0SECRETPATH|whsec/)
})

test('a refusal in passing, while what it is sent to is deployed anew, loses nothing after hours of trouble', async () => {
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(...Array.from({ length: 6 }, () => answerWith(500)), answerWith(404), answerWith(404), answerWith(200))
  for (let i = 0; i < 10; i++) {
    await t.run()
    await t.clock.advance(minutes(17))
  }
  expect(await t.engine.job(job)).toMatchObject({ state: 'succeeded' })
})

test('a redirect is not followed, and what is signed goes to nobody else', async () => {
  const other = await webhook()
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(answerWith(307, { location: other.url }))
  await t.run()
  expect(other.posts).toEqual([])
  expect(await t.engine.job(job)).toMatchObject({ state: 'waiting', failures: 1 })
})

test('a head that says yes is enough though the answer is cut; a connection that is cut before it is tried again', async () => {
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(
    (_, socket) => void socket.destroy(),
    (response, socket) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half', () => void socket.destroy())
    },
  )
  await t.run()
  expect(await t.engine.job(job)).toMatchObject({
    state: 'waiting',
    error: { message: expect.stringContaining('ECONNRESET') },
  })
  await t.clock.advance(seconds(10))
  await t.run()
  expect(await t.engine.job(job)).toMatchObject({ state: 'succeeded' })
})

test('one that never answers is left after ten seconds, and nobody home is reported without the address', async () => {
  const hook = await webhook()
  const { t, job } = await oneIncident(hook.url)
  hook.answers(() => {})
  const ran = t.run()
  await until(() => hook.posts.length === 1)
  await t.clock.advance(seconds(11))
  await ran
  const late = await t.engine.job(job)
  expect(late).toMatchObject({ state: 'waiting', error: { message: expect.stringContaining('no answer within 10 s') } })
  expect(JSON.stringify(late)).not.toMatch(/T0SECRETPATH|whsec|127\.0\.0\.1/)
})

test('the end is not reported before the beginning is, and not at all when that was given up', async () => {
  const hook = await webhook()
  const t = await engineOf({ notify: { url: hook.url } })
  await t.notify()
  const beginsAndEnds = async () => {
    await starve(t)
    await checks(t, 1)
    await t.run()
    await sql(t, `delete from retoma.finding`)
    await checks(t, 4)
  }
  const runs = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await t.run()
      await t.clock.advance(minutes(5))
    }
  }
  hook.answers(answerWith(500))
  await beginsAndEnds()
  await runs(3)
  expect((await t.engine.jobs.list({ kind: 'retoma.notify' })).items.map(each => each.state)).toEqual([
    'waiting',
    'waiting',
  ])
  expect(new Set(hook.events())).toEqual(new Set(['queue.starved']))
  hook.answers(answerWith(200))
  await runs(3)
  expect(hook.events().slice(-2)).toEqual(['queue.starved', 'queue.starved.cleared'])
  hook.answers(answerWith(410))
  await beginsAndEnds()
  await runs(4)
  const ends = (await t.engine.jobs.list({ kind: 'retoma.notify' })).items.map(each => each.state)
  expect(ends.sort()).toEqual(['failed', 'skipped', 'succeeded', 'succeeded'])
})

test('ten processes that check at once make one notice', async () => {
  const hook = await webhook()
  const { t } = await oneIncident(hook.url)
  const others = await Promise.all(Array.from({ length: 9 }, () => beside(t, { notify: { url: hook.url } })))
  const all = [t, ...others]
  for (let i = 0; i < 10; i++) {
    await Promise.all(
      all.map(async each => {
        await each.clock.advance(seconds(5))
        await each.notify()
      }),
    )
  }
  await Promise.all(all.map(each => each.run()))
  expect(hook.events()).toEqual(['batch.succeeded'])
})

test('a process that is killed between finding and telling loses nothing: another one tells it', async () => {
  const hook = await webhook()
  const url = await shareDatabase()
  const { engine } = await liveEngine([], { notify: { url: hook.url } }, url)
  const posted = gate()
  hook.answers(() => posted.open(), answerWith(204))
  const script = fileURLToPath(new URL('./notice-guest.mjs', import.meta.url))
  const guest = spawn(process.execPath, [script, url, hook.url], { stdio: 'inherit' })
  onTestFinished(() => void guest.kill('SIGKILL'))
  const over = new Promise<'gone'>(resolve => guest.once('exit', () => resolve('gone')))
  expect(await Promise.race([posted.passed, over])).not.toBe('gone')
  guest.kill('SIGKILL')
  await over
  // As it is found half a minute later.
  await query(
    url,
    `update retoma.worker set heartbeat_at = now() - interval '1 hour', suspected_at = now(), missed_checks = 6`,
  )
  await query(url, `update retoma.periodic_lease set at = now() - interval '6 seconds' where name = 'watchdog'`)
  await engine.work()
  await until(() => hook.posts.length === 2)
  expect(hook.events()).toEqual(['batch.succeeded', 'batch.succeeded'])
  expect(hook.posts[1]!.headers['x-retoma-delivery']).toBe(hook.posts[0]!.headers['x-retoma-delivery'])
})
