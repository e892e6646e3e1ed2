/** `retoma worker` as two processes: the worker and its supervisor. */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createEngine, defineJob, type Engine } from '../../src/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { folderWith, hasTerminal, type Program, processesIn, run, start } from './support.ts'

const config = `import { existsSync, writeFileSync } from 'node:fs'
import { defineConfig, defineJob, seconds } from 'retoma'
if (existsSync('refuse')) throw new Error('the config does not like it')
const never = (signal: AbortSignal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const quick = defineJob({ kind: 'quick', run: async () => process.pid })
const once = defineJob({ kind: 'once', run: ctx => (ctx.attempt > 1 ? 'again' : never(ctx.signal)) })
const spin = defineJob({ kind: 'spin', run: () => { for (;;) {} } })
const spinOut = defineJob({ kind: 'spin-out', maxAttempts: 1, timeout: seconds(3), run: () => { writeFileSync('spins', ''); for (;;) {} } })
const deaf = defineJob({ kind: 'deaf', run: () => new Promise(() => {}) })
const nested = defineJob({
  kind: 'nested',
  async run() {
    const { spawnSync } = await import('node:child_process')
    return spawnSync(process.execPath, [process.argv[1]!, 'queues', 'list', '--json']).status
  },
})
export default defineConfig({ jobs: [quick, once, spin, spinOut, deaf, nested] })
`

const jobs = Object.fromEntries(
  ['quick', 'once', 'spin', 'deaf', 'nested'].map(kind => [kind, defineJob<unknown>({ kind, run: () => {} })]),
)

let folder: string
let temporary: string
let url: string
let engine: Engine
let admin: pg.Client
let drop: () => Promise<void>
const begun: Program[] = []

beforeEach(async () => {
  folder = folderWith({ 'retoma.config.ts': config })
  temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  ;({ url, drop } = await migratedDatabase())
  engine = await createEngine({ databaseUrl: url, jobs: Object.values(jobs) })
  admin = new pg.Client({ connectionString: url })
  await admin.connect()
})

afterEach(async () => {
  for (const each of begun.splice(0)) {
    each.tell('SIGTERM')
    await each.ended
  }
  await engine.close()
  await admin.end()
  await drop()
})

const env = () => ({ DATABASE_URL: url, TMPDIR: temporary })

async function worker(args: string[] = []): Promise<Program> {
  const program = start(['worker', ...args], { folder, env: env() })
  begun.push(program)
  await program.said('Ctrl-C')
  return program
}

const enqueue = async (kind: string) => (await engine.enqueue(jobs[kind]!, null)).id
const finished = (job: string) => engine.wait({ job })
const running = (job: string) => expect.poll(async () => (await engine.job(job))?.state).toBe('running')

/** The process that works, as its row in the database says. */
async function workingPid(): Promise<number> {
  const { rows } = await admin.query(
    'select pid from retoma.worker where dead_at is null order by started_at desc limit 1',
  )
  return rows[0].pid
}

test('a worker that is killed is started again, and what it ran runs again at once', async () => {
  const program = await worker()
  const job = await enqueue('once')
  await running(job)
  const killed = await workingPid()
  process.kill(killed, 'SIGKILL')
  // Not after 20 s without a heartbeat, and at no cost: the crash report says that somebody killed it.
  expect(await finished(job)).toMatchObject({ state: 'succeeded', result: 'again', failures: 0, crashes: 0 })
  expect((await finished(await enqueue('quick')))?.result).not.toBe(killed)
  const { rows } = await admin.query('select pid, crash_report from retoma.worker where dead_at is not null')
  expect(rows).toMatchObject([
    { pid: killed, crash_report: { how: 'asked', signal: 'SIGKILL', started: [`${job}/1`] } },
  ])
  expect(await program.noted('died')).toContain(
    'worker process died: SIGKILL; at most 1 job was running; restarting in 0.2 s',
  )
})

test('SIGTERM to the parent: jobs are released, it exits 0, and no process, crash report or worker is left', async () => {
  const program = await worker()
  const job = await enqueue('once')
  await running(job)
  program.tell('SIGTERM')
  expect(await program.ended).toMatchObject({ code: 0, signal: null, stdout: expect.stringMatching(/stopped\n$/) })
  expect(processesIn(folder)).toEqual([])
  expect(readdirSync(temporary)).toEqual([])
  expect(await engine.job(job)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
  expect(await engine.workers.list()).toEqual([])
})

test('Ctrl-C in a terminal, which tells both processes, stops them once', async () => {
  const program = await worker()
  program.tellAll('SIGINT')
  const { code, stdout } = await program.ended
  expect(code).toBe(0)
  expect(stdout.match(/stopping/g)).toHaveLength(1)
  expect(processesIn(folder)).toEqual([])
})

test.each([
  ['deaf', 1],
  ['spin', 128 + 9],
])('who says it a second time is not kept waiting by a handler that is %s', async (kind, code) => {
  const program = await worker()
  await running(await enqueue(kind))
  program.tell('SIGTERM')
  let over = false
  void program.ended.then(() => {
    over = true
  })
  const again = () => {
    program.tell('SIGTERM')
    return over
  }
  await expect.poll(again, { interval: 100 }).toBe(true)
  // With 0 it would have waited for the end of the grace.
  expect(await program.ended).toMatchObject({ code })
  expect(processesIn(folder)).toEqual([])
})

test('a parent that is killed leaves nobody behind: the worker notices, hands its jobs back and ends', async () => {
  const program = await worker()
  const job = await enqueue('once')
  await running(job)
  program.tell('SIGKILL')
  await expect.poll(() => processesIn(folder)).toEqual([])
  expect(await engine.job(job)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
  expect(await engine.workers.list()).toEqual([])
  // The next one clears up behind it.
  const next = await worker()
  next.tell('SIGTERM')
  await next.ended
  expect(readdirSync(temporary)).toEqual([])
})

test.each([
  [['--queues', 'nonsense'], 2, /^error wrong_use: /],
  [['--quees', 'x'], 2, /^error wrong_use: there is no option --quees/],
  [['--config', 'nowhere.ts'], 1, /^error bad_config: /],
])('a worker %j that refuses to start says so once, and its parent exits as it did', async (args, code, sentence) => {
  const ended = await run(['worker', ...args], { folder, env: env() })
  expect(ended).toMatchObject({ code, signal: null, stdout: '', stderr: expect.stringMatching(sentence) })
  expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  expect(readdirSync(temporary)).toEqual([])
})

test('once one has worked a boot that fails is tried again, and reported, until it works', async () => {
  const program = await worker()
  writeFileSync(join(folder, 'refuse'), '')
  process.kill(await workingPid(), 'SIGKILL')
  const said = await program.noted('worker process did not get ready, 2 times in a row: exit code 1')
  expect(said.match(/error bad_config: .*the config does not like it/g)?.length).toBeGreaterThanOrEqual(2)
  rmSync(join(folder, 'refuse'))
  expect(await finished(await enqueue('quick'))).toMatchObject({ state: 'succeeded' })
})

test('a worker that gets the signal to stop, and not its parent, is started again: that is what the parent is for', async () => {
  const program = await worker()
  const job = await enqueue('once')
  await running(job)
  process.kill(await workingPid(), 'SIGTERM')
  expect(await finished(job)).toMatchObject({ state: 'succeeded', failures: 0, restarts: 0 })
  expect(await program.noted('worker process ended')).toContain('"how":"asked"')
})

test.each([
  [['--no-supervise'], {}],
  [[], { RETOMA_SUPERVISE: 'off' }],
])('with %j %j the process that was started does the work, and nobody starts it again', async (args, off) => {
  const program = start(['worker', ...args], { folder, env: { ...env(), ...off } })
  await program.said('Ctrl-C')
  expect(processesIn(folder)).toHaveLength(1)
  process.kill(await workingPid(), 'SIGKILL')
  expect(await program.ended).toMatchObject({ signal: 'SIGKILL' })
  expect(existsSync(temporary) && readdirSync(temporary)).toEqual([])
})

test('a command that a job runs does not take itself for the supervised process', async () => {
  await worker()
  expect(await finished(await enqueue('nested'))).toMatchObject({ state: 'succeeded', result: 0 })
})

describe.runIf(hasTerminal)('in a terminal', () => {
  test('its log looks as it does without a parent', async () => {
    const program = start(['worker'], { folder, env: env(), terminal: true })
    expect(await program.said('worker ready')).toContain('\u001b[36minfo \u001b[0m worker ready')
    program.type('\u0003')
    expect(await program.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('stopped') })
  })

  test('SIGHUP of a terminal that closes stops the worker, and is no rolling restart', async () => {
    const program = start(['worker'], { folder, env: env(), terminal: true })
    await program.said('worker ready')
    // The program that makes the terminal: with it the terminal is gone.
    program.tell('SIGKILL')
    await expect.poll(() => processesIn(folder)).toEqual([])
    expect(await engine.workers.list()).toEqual([])
  })
})

test('SIGHUP replaces the worker process, and the handlers of its jobs hear the stop', async () => {
  const program = await worker()
  const job = await enqueue('once')
  await running(job)
  const before = await workingPid()
  program.tell('SIGHUP')
  expect(await finished(job)).toMatchObject({ state: 'succeeded', failures: 0, restarts: 0 })
  await program.noted('the rolling restart is done')
  expect(await workingPid()).not.toBe(before)
})

test('stopped while a job blocks its loop, up ends at that timeout and leaves no PostgreSQL behind', async () => {
  const place = folderWith({ 'retoma.config.ts': config })
  const surroundings = { folder: place, env: { PORT: '0', TMPDIR: temporary } }
  const up = start(['up'], surroundings)
  begun.push(up)
  await up.said('Ctrl-C')
  await run(['jobs', 'enqueue', 'spin-out', 'null'], surroundings)
  await expect.poll(() => existsSync(join(place, 'spins'))).toBe(true)
  up.tell('SIGTERM')
  await up.ended
  await expect.poll(() => processesIn(place)).toEqual([])
})
