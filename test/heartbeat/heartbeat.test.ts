/** The heartbeat thread of a worker: real threads, real processes, and a real main loop that is blocked. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createEngine, defineJob } from '../../src/index.ts'
import { createLog } from '../../src/lib/logging/log.ts'
import { buildCrashReports } from '../../src/supervisor/build-crash-report.ts'
import { crashReportFolderVariable, readSuspectedJob } from '../../src/supervisor/suspected-job-file.ts'
import { liveEngine, shareDatabase, until } from '../support/engine.ts'
import { linkTo } from '../support/link.ts'
import { onTestFinished, together } from '../support/together.ts'

const script = fileURLToPath(new URL('./heartbeat-guest.mjs', import.meta.url))
const kinds = ['bad', 'neighbour'].map(kind => defineJob({ kind, run: () => {} }))

/** A process with a worker that does such things, an engine that only looks on, and the crash reports it leaves. */
async function guest(task: string, { supervised = false, alone = false } = {}) {
  const url = await shareDatabase()
  const engine = await createEngine({ databaseUrl: url, jobs: kinds })
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  const reportFolder = mkdtempSync(join(tmpdir(), 'retoma-crash-reports-'))
  const child: ChildProcess = spawn(process.execPath, [script, url, task, join(reportFolder, 'enough')], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...(supervised ? { [crashReportFolderVariable]: reportFolder } : {}) },
  })
  const ended = new Promise<{ code: number | null; signal: string | null }>(resolve =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
    await engine.close()
    await admin.end()
    rmSync(reportFolder, { recursive: true })
  })
  const said: string[] = []
  createInterface({ input: child.stdout! }).on('line', line => said.push(line))
  let logged = ''
  child.stderr!.on('data', chunk => {
    logged += chunk
  })
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const says = (line: string) =>
    until(async () => {
      if (isOver && !said.includes(line)) throw new Error(`it ended without "${line}": ${logged}`)
      await admin.query('select pg_sleep(0.05)')
      return said.includes(line)
    })
  // Not asked over and over: it and its heart need the processor more.
  const worker = async () =>
    (await admin.query(`select w.*, now() as now from retoma.worker w, pg_sleep(0.05)`)).rows[0] as Record<
      string,
      unknown
    >
  await says('ready')
  // From its heart: a registration is none.
  await until(async () => {
    const { started_at, heartbeat_at } = await worker()
    return ms(started_at, heartbeat_at) > 0
  })
  const { id: neighbour } = alone ? { id: '' } : await engine.enqueue(kinds[1]!, undefined)
  if (!alone) await says('neighbour')
  const { id: bad } = await engine.enqueue(kinds[0]!, undefined)
  const enough = () => writeFileSync(join(reportFolder, 'enough'), '')
  const suspectedJob = () => readSuspectedJob(reportFolder)
  const crashReport = () =>
    buildCrashReports(reportFolder, {
      signal: 'SIGKILL',
      exitCode: null,
      memoryBytes: null,
      oomBefore: null,
      oomAfter: null,
      stderr: null,
    }).crashReport
  return { engine, child, ended, says, worker, bad, neighbour, enough, suspectedJob, crashReport, logged: () => logged }
}

const ms = (from: unknown, to: unknown) => (to as Date).getTime() - (from as Date).getTime()

test('a loop that spins is reported while it spins, by job and function; heartbeats go on, and a neighbour pays nothing', async () => {
  const { engine, says, worker, bad, neighbour, enough, logged } = await guest('spin')
  await says('begins')
  await until(async () => (await worker()).blocked_job !== null)
  const blocked = await worker()
  expect(blocked).toMatchObject({ blocked_job: bad, blocked_attempt: 1, free_slots: { default: 0 }, in_flight: 2 })
  expect(blocked.blocked_stack).toMatch(/^spinHard \(.*heartbeat-guest\.mjs:\d+\)/)
  // Not how Retoma came to call it.
  expect(blocked.blocked_stack).not.toContain('attempt.')
  expect(logged()).toContain(`the main loop is blocked by job ${bad}, in spinHard`)
  expect((await engine.workers.list())[0]).toMatchObject({ blocked: { job: bad, attempt: 1 } })
  // Longer than its neighbour may take, and until a later heartbeat than the heartbeat that reported it.
  await until(async () => {
    const { blocked_since, heartbeat_at, now } = await worker()
    return ms(blocked_since, now) > 7000 && ms(blocked.heartbeat_at, heartbeat_at) > 0
  })
  enough()
  await says('ends')
  await until(async () => (await worker()).unblocked_at !== null)
  expect(await worker()).toMatchObject({ blocked_since: null, blocked_job: null, blocked_stack: null })
  for (const id of [bad, neighbour])
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', failures: 0 })
})

test('supervised, a job that blocks the loop past its own timeout ends its process and is named; its neighbour is not', async () => {
  const { ended, bad, suspectedJob, logged } = await guest('endless', { supervised: true })
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
  expect(suspectedJob()).toMatchObject({
    job: bad,
    attempt: 1,
    how: 'timeout',
    stack: expect.stringContaining('spinHard'),
  })
  expect(logged()).toContain('this process ends itself')
})

test('supervised, a job that spins while it waits for the database is out of time all the same', async () => {
  const { ended, bad, suspectedJob } = await guest('asking', { supervised: true })
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
  expect(suspectedJob()).toMatchObject({ job: bad, how: 'timeout' })
})

test('supervised, a loop blocked where nobody can be named ends its process once all that run are out of time', async () => {
  const { ended, suspectedJob, crashReport, logged } = await guest('native', { supervised: true })
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
  expect(suspectedJob()).toBe(null)
  expect(crashReport()).toMatchObject({ how: 'unexplained', why: 'SIGKILL, its main loop blocked' })
  expect(logged()).toContain('nobody can be named')
})

test('supervised, a job that takes all memory ends its process before the kernel does, and is named', async () => {
  const { ended, bad, suspectedJob } = await guest('memory', { supervised: true })
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL' })
  expect(suspectedJob()).toMatchObject({ job: bad, how: 'memory', stack: expect.stringContaining('devour') })
})

together('a heart beats at once when the database is back', async () => {
  const url = await shareDatabase()
  const link = await linkTo(url)
  const { engine } = await liveEngine([defineJob({ kind: 'k', run: () => 1 })], { databaseDirectUrl: link.url }, url)
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(() => admin.end())
  await engine.work()
  const heartbeatAt = async () =>
    (await admin.query(`select heartbeat_at::text as at from retoma.worker`)).rows[0].at as string
  const first = await heartbeatAt()
  await until(async () => (await heartbeatAt()) !== first)
  link.cut()
  const last = await heartbeatAt()
  link.mend()
  await until(async () => (await heartbeatAt()) !== last)
  // Not when the next one was due.
  const early = `select heartbeat_at - $1::timestamptz < interval '4 seconds' as early from retoma.worker`
  expect((await admin.query(early, [last])).rows).toEqual([{ early: true }])
})

together('a process that was stopped as a whole charges nobody for it, not even a job that runs alone', async () => {
  const { engine, child, says, worker, bad, enough } = await guest('doze', { alone: true })
  await says('begins')
  const stopped = performance.now()
  child.kill('SIGSTOP')
  // Longer than its timeout.
  await until(async () => {
    await worker()
    return performance.now() - stopped > 8000
  })
  child.kill('SIGCONT')
  // It would be reported now.
  for (let checks = 0; checks < 10; checks++) await worker()
  enough()
  await until(async () => ['succeeded', 'failed'].includes((await engine.job(bad))!.state))
  expect(await engine.job(bad)).toMatchObject({ state: 'succeeded', failures: 0 })
})

together(
  'a worker that was declared dead starts over under a new id, for which its heartbeat thread writes',
  async () => {
    const { engine, url } = await liveEngine([defineJob({ kind: 'k', run: () => 1 })])
    const admin = new pg.Client({ connectionString: url })
    await admin.connect()
    onTestFinished(() => admin.end())
    const worker = await engine.work()
    const first = worker.id
    const sessions = async () =>
      (
        await admin.query(
          `select application_name as name from pg_stat_activity where application_name like 'retoma w-%'`,
        )
      ).rows
    await until(async () => (await sessions()).some(({ name }) => name === `retoma ${first}`))
    await admin.query(`update retoma.worker set dead_at = now() where id = $1`, [first])
    await until(() => worker.id !== first)
    await until(async () => (await sessions()).some(({ name }) => name === `retoma ${worker.id}`))
    expect((await engine.workers.list()).find(each => each.id === worker.id)).toMatchObject({ dead: false })
  },
)

together('where a heart cannot beat, the main loop does, and says so once', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', format: 'json', write: line => void lines.push(line) })
  const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
  const { engine, url } = await liveEngine([defineJob({ kind: 'k', run: () => 1 })], {
    databaseDirectUrl: nowhere,
    log,
  })
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  onTestFinished(() => admin.end())
  await engine.work()
  const heartbeatAt = async () =>
    (await admin.query(`select heartbeat_at::text as at from retoma.worker`)).rows[0].at as string
  const first = await heartbeatAt()
  await until(async () => (await heartbeatAt()) !== first)
  const second = await heartbeatAt()
  await until(async () => (await heartbeatAt()) !== second)
  expect(lines.filter(line => line.includes('the heartbeat thread is silent'))).toHaveLength(1)
})
