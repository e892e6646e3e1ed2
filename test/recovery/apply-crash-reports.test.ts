/** Death certificates that a supervisor left: used before anything is claimed, and kept until they were. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Db } from '../../src/database/db.ts'
import { createEngine, defineJob } from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { createLog, silentLog } from '../../src/lib/logging/log.ts'
import { applyCrashReports } from '../../src/recovery/apply-crash-reports.ts'
import { readPendingCrashReports, writePendingCrashReport } from '../../src/supervisor/crash-report-file.ts'
import { makeCrashReport } from '../../src/supervisor/model/crash-report.ts'
import { Supervision } from '../../src/supervisor/supervision.ts'
import { storeForFile } from '../support/store.ts'

const crashed = async () => {}
const supervision = new Supervision()
const store = storeForFile()
const crashReport = makeCrashReport({
  signal: 'SIGKILL',
  exitCode: null,
  askedToStop: false,
  memoryBytes: null,
  oomBefore: 0,
  oomAfter: 0,
  started: ['1/1'],
  suspectedJob: null,
  stderr: null,
})

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'retoma-burials-test-'))
  process.env.RETOMA_PENDING_CRASH_REPORTS = folder
  onTestFinished(() => {
    delete process.env.RETOMA_PENDING_CRASH_REPORTS
    rmSync(folder, { recursive: true })
  })
})

const job = defineJob({ kind: 'k', queue: 'q', run: ctx => ctx.attempt })

test('a worker that begins first recovers the jobs of the workers before it: what they held runs at once', async () => {
  await store.worker('w-dead', systemClock.now())
  const id = await store.put('running', { worker: 'w-dead' })
  writePendingCrashReport(folder, { worker: 'w-dead', crashReport })
  await using engine = await createEngine({ databaseUrl: store.url, jobs: [job] })
  await engine.work()
  expect(readPendingCrashReports(folder)).toEqual([])
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 2, failures: 0, crashes: 0 })
  const [row] = await store.sql(`select dead_at, crash_report from retoma.worker where id = 'w-dead'`)
  expect(row).toMatchObject({ dead_at: expect.any(Date), crash_report: crashReport })
})

test('a crash report stays until what it says is committed, and is used at the next try', async () => {
  await store.worker('w-dead')
  const id = await store.put('running', { worker: 'w-dead' })
  writePendingCrashReport(folder, { worker: 'w-dead', crashReport: { ...crashReport, started: [`${id}/1`] } })
  const reported: string[] = []
  const lines: string[] = []
  const log = createLog({ level: 'warn', format: 'json', write: line => void lines.push(line) })
  const tell = (queue: string) => void reported.push(queue)
  const away = async () => {
    throw new Error('the database is away')
  }
  const broken = { ...store.db, run: away, transaction: away } as unknown as Db
  await applyCrashReports({ db: broken, clock: systemClock, log, supervision, wake: tell, crashed })
  expect(readPendingCrashReports(folder)).toHaveLength(1)
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0]!)).toMatchObject({ worker: 'w-dead', msg: expect.stringContaining('trying again') })
  await Promise.all(
    [1, 2].map(() => applyCrashReports({ db: store.db, clock: systemClock, log, supervision, wake: tell, crashed })),
  )
  expect(readPendingCrashReports(folder)).toEqual([])
  expect(reported).toContain('q')
  expect(await store.job(id)).toMatchObject({ state: 'waiting', worker_id: null, restarts: 1 })
})

test('the crash report of a worker that has no row any more is gone with it', async () => {
  writePendingCrashReport(folder, { worker: 'w-forgotten', crashReport })
  await applyCrashReports({ db: store.db, clock: systemClock, log: silentLog, supervision, wake: () => {}, crashed })
  expect(readPendingCrashReports(folder)).toEqual([])
})
