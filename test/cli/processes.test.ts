/** `retoma worker --processes N` and `up --processes N`: one supervisor, several worker processes, one log. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEngine, defineJob, type Engine } from '../../src/index.ts'
import { parseProcesses } from '../../src/settings/process-count.ts'
import { migratedDatabase } from '../support/database.ts'
import { folderWith, type Program, processesIn, run, start } from './support.ts'

const config = `import { existsSync } from 'node:fs'
import { defineConfig, defineJob } from 'retoma'
if (existsSync('refuse')) throw new Error('the config does not like it')
const never = (signal: AbortSignal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
const speak = defineJob({ kind: 'speak', run: async () => { console.log('a line of a handler'); return process.pid } })
const once = defineJob({ kind: 'once', run: ctx => (ctx.attempt > 1 ? 'again' : never(ctx.signal)) })
export default defineConfig({ jobs: [speak, once] })
`
const speak = defineJob<unknown>({ kind: 'speak', run: () => {} })
const once = defineJob<unknown>({ kind: 'once', run: () => {} })

let folder: string
let temporary: string
let url: string
let engine: Engine
let admin: pg.Client
let drop: () => Promise<void>

beforeAll(async () => {
  folder = folderWith({ 'retoma.config.ts': config }, 'file')
  temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  ;({ url, drop } = await migratedDatabase())
  engine = await createEngine({ databaseUrl: url, jobs: [speak, once] })
  admin = new pg.Client({ connectionString: url })
  await admin.connect()
})

afterAll(async () => {
  await engine.close()
  await admin.end()
  await drop()
})

const env = () => ({ DATABASE_URL: url, TMPDIR: temporary })
const alive = async (): Promise<number[]> => {
  const { rows } = await admin.query('select pid from retoma.worker where dead_at is null order by pid')
  return rows.map(row => row.pid)
}
const eventually = (count: number) => expect.poll(alive).toHaveLength(count)
const finished = (job: string) => engine.wait({ job })

/** The log lines of the worker processes with one of these messages, as `message number`. */
const reported = (stderr: string, ...messages: string[]): string[] =>
  // The last line may not be complete.
  stderr
    .split('\n')
    .slice(0, -1)
    .flatMap(line => {
      const { msg, process } = line.startsWith('{') ? JSON.parse(line) : { msg: '', process: 0 }
      return messages.includes(msg) ? [`${msg} ${process}`] : []
    })

describe('three worker processes', () => {
  let program: Program
  beforeAll(async () => {
    program = start(['worker', '--processes', '3'], { folder, env: env() })
    await program.said('Ctrl-C')
  })

  test('one start message names the processes and their connections, and every line of the log its process', async () => {
    await eventually(3)
    const stdout = await program.said('Ctrl-C')
    expect(stdout.match(/Retoma .* works/g)).toHaveLength(1)
    expect(stdout).toMatch(
      /^\[1\] processes: 3, together at most \d+ of the \d+ connections that the database allows$/m,
    )
    await finished((await engine.enqueue(speak, null)).id)
    expect(await program.said('a line of a handler')).toMatch(/^\[[123]\] a line of a handler$/m)
    const stderr = await program.noted('worker ready')
    expect(reported(stderr, 'worker ready').sort()).toEqual(['worker ready 1', 'worker ready 2', 'worker ready 3'])
    expect(
      stderr
        .trim()
        .split('\n')
        .every(line => /^\{"process":[123],/.test(line)),
    ).toBe(true)
  })

  test('a process that is killed is started again alone, and its jobs run again at once', async () => {
    const before = await alive()
    const { id } = await engine.enqueue(once, null)
    await expect.poll(async () => (await engine.job(id))?.state).toBe('running')
    const { rows } = await admin.query('select w.pid from retoma.worker w join retoma.job j on j.worker_id = w.id where j.id = $1', [id]) // biome-ignore format: one statement
    process.kill(rows[0].pid, 'SIGKILL')
    expect(await finished(id)).toMatchObject({ state: 'succeeded', result: 'again', failures: 0, crashes: 0 })
    await eventually(3)
    const after = await alive()
    expect(before.filter(pid => !after.includes(pid))).toEqual([rows[0].pid])
    expect(await program.noted('died')).toMatch(
      // A job is running in the database before its handler begins.
      /worker process [123] died: SIGKILL; .*(no|1) job.*; restarting in 0.2 s/,
    )
  })

  test('SIGHUP replaces every process, the next only when the last claims again', async () => {
    const before = await alive()
    // The row of the process started again is there before its line in the log.
    await expect.poll(async () => reported(await program.noted(''), 'worker ready')).toHaveLength(4)
    const earlier = (await program.noted('')).length
    program.tell('SIGHUP')
    const stderr = (await program.noted('the rolling restart is done')).slice(earlier)
    expect(reported(stderr, 'worker stopped', 'worker ready')).toEqual(
      [3, 2, 1].flatMap(number => [`worker stopped ${number}`, `worker ready ${number}`]),
    )
    await eventually(3)
    expect((await alive()).filter(pid => before.includes(pid))).toEqual([])
  })

  test('a process that does not come up stops the rolling restart, and the others work on', async () => {
    const before = await alive()
    writeFileSync(join(folder, 'refuse'), '')
    program.tell('SIGHUP')
    expect(await program.noted('the rolling restart stops')).toContain(
      'the rolling restart stops: worker process 3 did not come up; restarted before: 0, not touched: 2;',
    )
    expect((await alive()).filter(pid => before.includes(pid))).toHaveLength(2)
    expect(before).toContain((await finished((await engine.enqueue(speak, null)).id)).result)
    rmSync(join(folder, 'refuse'))
    await eventually(3)
  })

  test('SIGTERM stops all processes at once, releases their jobs, and leaves nothing behind', async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => (await engine.enqueue(once, null)).id))
    for (const id of ids) await expect.poll(async () => (await engine.job(id))?.state).toBe('running')
    program.tell('SIGTERM')
    expect(await program.ended).toMatchObject({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(/\[1\] stopped\n$/),
    })
    expect(processesIn(folder)).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
    expect(await alive()).toEqual([])
    for (const id of ids) expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0, restarts: 0 })
  })
})

test('up has the API in its first process alone, and Ctrl-C in a terminal stops all processes once', async () => {
  const up = start(['up'], { folder, env: { ...env(), PORT: '0', RETOMA_PROCESSES: '2' } })
  const stdout = await up.said('Ctrl-C')
  const address = /is up: (\S+)/.exec(stdout)![1]
  await eventually(2)
  expect((await fetch(`${address}/ready`)).status).toBe(200)
  up.tellAll('SIGINT')
  const ended = await up.ended
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(ended.stdout.match(/stopping/g)).toHaveLength(1)
  expect(processesIn(folder)).toEqual([])
})

// A machine with many cores would need more connections than the server of the tests allows.
test.runIf(parseProcesses('auto')! <= 8)('worker --processes auto starts one process for each core', async () => {
  const worker = start(['worker', '--processes', 'auto'], { folder, env: env() })
  await worker.said('Ctrl-C')
  await eventually(parseProcesses('auto')!)
  worker.tell('SIGTERM')
  expect(await worker.ended).toMatchObject({ code: 0, signal: null })
  expect(await alive()).toEqual([])
})

test.each([
  [['--processes', '0'], {}, 2, /^error wrong_use: --processes is auto or a whole number from 1 to 256, not "0"\n$/],
  [['--processes', '2', '--no-supervise'], {}, 2, /^error wrong_use: several processes need the supervisor/],
  [[], { RETOMA_PROCESSES: 'many' }, 1, /^error bad_setting: .*RETOMA_PROCESSES/],
  [['--processes', '200'], {}, 1, /^\[1\] error too_many_processes: 200 processes need at least 1200 connections/],
])('worker %j %j is refused once', async (args, more, code, sentence) => {
  const ended = await run(['worker', ...args], { folder, env: { ...env(), ...more } })
  expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(sentence) })
})
