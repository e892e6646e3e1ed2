/** Cron routes: one pass of all background services, for a caller with the secret. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { cronRoutes } from '../../src/http/index.ts'
import { defineJob, defineSchedule, hours, minutes, seconds } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { gate, timePasses } from '../support/engine.ts'
import { doorWith } from './support.ts'

const cronSecret = 'um segredo bem comprido'
const tick = '/api/v1/cron/tick'
const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
const query = (secret: string) => `${tick}?secret=${encodeURIComponent(secret)}`
const one = cronSecret.replaceAll(' ', '-')

test('without CRON_SECRET they answer 503, also while the server is open, and no stranger fills the log with it', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: line => lines.push(line) })
  const { ask } = await doorWith([], { app: { log } })
  for (const method of ['GET', 'POST']) {
    const { status, body } = await ask(method, tick, bearer('x'))
    expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'cron_unset' })
  }
  expect(lines).toEqual([])
})

test('the secret opens them as a Bearer or in the query, with GET and POST, and the answer is kept by nobody', async () => {
  const { ask } = await doorWith([], { app: { cronSecret: one } })
  for (const method of ['GET', 'POST']) {
    for (const answer of [await ask(method, tick, bearer(one)), await ask(method, query(one))]) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.body).toMatchObject({ dead: [], recovered: [], timed_out: [], findings: [] })
    }
  }
})

test('a wrong or missing secret is 401, whoever asks', async () => {
  const { ask, engine } = await doorWith([], { app: { cronSecret } })
  const { token } = await engine.tokens.create({ user: 'ana', role: 'admin' })
  for (const answer of [
    await ask('GET', tick),
    await ask('POST', tick, { token }),
    await ask('GET', query(`${cronSecret}x`)),
    await ask('GET', query('')),
    await ask('GET', tick, bearer('um')),
  ]) {
    expect(answer).toMatchObject({ status: 401, body: { error: { code: 'cron_refused' } } })
    expect(JSON.stringify(answer.body)).not.toContain('segredo')
  }
  expect((await ask('GET', query(cronSecret))).status).toBe(200)
})

test('a parameter that they do not know is named', async () => {
  const { ask } = await doorWith([], { app: { cronSecret: one } })
  for (const method of ['GET', 'POST'])
    expect(await ask(method, `${query(one)}&surprise=1`)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request', field: 'surprise' } },
    })
})

test('guesses are slowed', async () => {
  const { ask, clock } = await doorWith([], { app: { cronSecret } })
  for (let n = 0; n < 10; n++) expect((await ask('GET', query(`guess-${n}`))).status).toBe(401)
  expect((await ask('GET', query('guess'))).status).toBe(429)
  expect((await ask('GET', query(cronSecret))).status).toBe(200)
  await clock.advance(minutes(1))
  expect((await ask('GET', query('guess'))).status).toBe(401)
})

test('a tick does what is due', async () => {
  const old = defineJob({ kind: 'old', maxAge: minutes(5), run: () => 1 })
  const { ask, engine, clock } = await doorWith([old], { app: { cronSecret } })
  const { id } = await engine.enqueue(old, undefined)
  await clock.advance(minutes(6))
  expect((await ask('POST', query(cronSecret))).body.overdue).toEqual([id])
  expect((await engine.job(id))!.state).toBe('failed')
})

test('with work, a tick also runs what is ready, what it has just scheduled too, and answers the counts', async () => {
  const runs: string[] = []
  const job = defineJob<string>({ kind: 'work', run: (_, name) => void runs.push(name) })
  const nightly = defineSchedule({ name: 'nightly', job, every: minutes(5), input: 'scheduled' })
  const { ask, engine, clock } = await doorWith([job], { app: { cronSecret: one }, schedules: [nightly] })
  expect((await ask('POST', query(one))).body.work).toBeNull()
  await engine.enqueue(job, 'enqueued')
  await clock.advance(minutes(6))
  for (const [method, attempts] of [
    ['GET', 2],
    ['POST', 0],
  ] as const) {
    const { status, body } = await ask(method, `${query(one)}&work=20s`)
    expect({ status, work: body.work }).toMatchObject({
      status: 200,
      work: { attempts, succeeded: attempts, empty: true },
    })
  }
  expect(runs.sort()).toEqual(['enqueued', 'scheduled'])
})

test('a tick runs the jobs of a queue with a rate as the rate allows, and says when ready jobs are left', async () => {
  const job = defineJob({ kind: 'sent', queue: 'q', run: () => 1 })
  const { ask, engine, clock } = await doorWith([job], { app: { cronSecret: one } })
  await engine.queues.setLimits('q', { rate: { limit: 1, per: seconds(1) } })
  await engine.enqueueMany(job, [undefined, undefined, undefined])
  let answered = false
  const asked = ask('POST', `${query(one)}&work=15m`).finally(() => {
    answered = true
  })
  await timePasses(clock, () => answered)
  expect((await asked).body.work).toMatchObject({ succeeded: 3, empty: true })
  await engine.queues.setLimits('q', { rate: { limit: 1, per: hours(1) } })
  await engine.enqueueMany(job, [undefined])
  expect((await ask('POST', `${query(one)}&work=20s`)).body.work).toMatchObject({ attempts: 0, empty: false })
})

test('a tick works the queues that the request names, a queue without a kind of this process too', async () => {
  const job = defineJob<string>({ kind: 'work', queue: 'mail', run: (_, name) => name })
  const { ask, engine } = await doorWith([job], { app: { cronSecret: one } })
  const { id } = await engine.enqueue(job, 'a', { queue: 'bulk' })
  const tick = async (more: string) => await ask('POST', `${query(one)}&work=20s${more}`)
  expect((await tick('&queues=mail:2')).body.work).toMatchObject({ attempts: 0 })
  expect((await tick('&queues=mail:2,bulk:5')).body.work).toMatchObject({ attempts: 1, succeeded: 1 })
  expect((await engine.job(id))!.state).toBe('succeeded')
  for (const bad of ['bulk', 'bulk:0', 'bulk:-1', ':5', 'bulk:5,,'])
    expect(await tick(`&queues=${bad}`)).toMatchObject({ status: 400, body: { error: { field: 'queues' } } })
  expect((await tick('&queues=bulc:5')).body.error).toMatchObject({ code: 'unknown_queue' })
  const read = await ask('GET', `${query(one)}&work=20s&queues=bulc:5`)
  expect(read.body.error).toMatchObject({ code: 'unknown_queue' })
})

test('a tick whose pass fails answers only when its work has ended', async () => {
  const [begun, open] = [gate(), gate()]
  const job = defineJob({
    kind: 'work',
    async run() {
      begun.open()
      await open.passed
    },
  })
  const { ask, engine } = await doorWith([job], { app: { cronSecret: one } })
  await engine.enqueue(job, undefined)
  const watch = vi.spyOn(engine, 'watch').mockRejectedValue(new Error('the pass failed'))
  onTestFinished(() => watch.mockRestore())
  let answered = false
  const asked = ask('POST', `${query(one)}&work=20s`).then(answer => {
    answered = true
    return answer
  })
  await begun.passed
  expect(watch).toHaveBeenCalled()
  expect(answered).toBe(false)
  open.open()
  expect((await asked).status).toBe(500)
})

test.each(['', '20', '0s', '16m', '-5s', 'soon'])('the time of work %j is refused', async work => {
  const { ask } = await doorWith([], { app: { cronSecret: one } })
  expect(await ask('GET', `${query(one)}&work=${work}`)).toMatchObject({
    status: 400,
    body: { error: { code: 'bad_request', field: 'work' } },
  })
})

test('an app has cron routes of its own, behind the same secret', async () => {
  const routes = cronRoutes({
    path: '/api/cron/watchdog-documents',
    name: 'watchdogDocuments',
    summary: 'Marks documents',
    answer: z.object({ marked: z.number() }),
    run: () => ({ marked: 3 }),
  })
  const { ask } = await doorWith([], { app: { cronSecret: one, routes } })
  expect((await ask('GET', '/api/cron/watchdog-documents')).status).toBe(401)
  for (const method of ['GET', 'POST'])
    expect((await ask(method, '/api/cron/watchdog-documents', bearer(one))).body).toEqual({ marked: 3 })
})
