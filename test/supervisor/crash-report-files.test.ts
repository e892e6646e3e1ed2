/** The files that a process leaves for its supervisor, and their folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createStderrTail } from '../../src/lib/stderr-tail.ts'
import { buildCrashReports } from '../../src/supervisor/build-crash-report.ts'
import {
  readPendingCrashReports,
  removePendingCrashReport,
  writePendingCrashReport,
} from '../../src/supervisor/crash-report-file.ts'
import { makeCrashReportFolder } from '../../src/supervisor/crash-report-folder.ts'
import { openInFlightJournal, readInFlightJournal } from '../../src/supervisor/in-flight-journal.ts'
import { memoryOf, oomCounter } from '../../src/supervisor/oom-counter.ts'
import { writeStatusFile } from '../../src/supervisor/status-files.ts'
import { Supervision } from '../../src/supervisor/supervision.ts'
import { recordSuspectedJob } from '../../src/supervisor/suspected-job-file.ts'

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'retoma-supervisor-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('the start of an attempt is never written over while it runs', () => {
  const folder = scratch()
  const journal = openInFlightJournal(folder, 'w-1')
  const places = ['1/1', '2/1', '9223372036854775807/2147483647'].map(journal.note)
  expect(readInFlightJournal(folder).get('w-1')).toEqual(['1/1', '2/1', '9223372036854775807/2147483647'])
  journal.free(places[1]!)
  expect(readInFlightJournal(folder).get('w-1')).toContain('2/1')
  journal.note('4/1')
  journal.note('5/1')
  expect(readInFlightJournal(folder).get('w-1')).toEqual(['1/1', '4/1', '9223372036854775807/2147483647', '5/1'])
})

test('a worker that ended in order leaves no start, its neighbours in that process keep theirs', () => {
  const folder = scratch()
  const [one, other] = ['w-1', 'w-2'].map(worker => openInFlightJournal(folder, worker))
  one!.note('1/1')
  other!.note('2/1')
  one!.close()
  one!.close()
  one!.note('3/1')
  expect([...readInFlightJournal(folder)]).toEqual([['w-2', ['2/1']]])
})

test('work that cannot be noted is done all the same', () => {
  const journal = openInFlightJournal(join(scratch(), 'gone'), 'w-1')
  journal.free(journal.note('1/1'))
  journal.close()
  openInFlightJournal(undefined, 'w-1').note('1/1')
})

test('a worker that could not note a start leaves no list: what is not on it would count as never begun', () => {
  const folder = scratch()
  const full = openInFlightJournal(folder, 'w-1')
  full.note('1/1')
  // Every write to it fails as on a full disk.
  symlinkSync('/dev/full', join(folder, 'starts.w-2'))
  const other = openInFlightJournal(folder, 'w-2')
  other.free(other.note('2/1'))
  other.note('3/1')
  expect(readdirSync(folder)).toEqual(['starts.w-1'])
  other.close()
})

test('what else lies among the papers, or in them, ends no supervisor', () => {
  const place = scratch()
  const made = makeCrashReportFolder([place])!
  const reportFolder = made.reportFolder()
  openInFlightJournal(reportFolder, 'w-1').note('1/1')
  mkdirSync(join(reportFolder, 'starts.w-2', 'deep'), { recursive: true })
  mkdirSync(join(reportFolder, 'suspected-job.json'))
  expect(
    buildCrashReports(reportFolder, { ...nothing, signal: 'SIGSEGV', exitCode: null }).pendingReports,
  ).toMatchObject([{ worker: 'w-1', crashReport: { how: 'unexplained', started: ['1/1'] } }])
  made.reportFolder()
  expect(readdirSync(reportFolder)).toEqual([])
})

test.each([
  ['cut off in the middle', '{"job":"1","attempt":1,"how":"ex'],
  ['empty', ''],
  ['somebody else’s', '{"job":{"id":1},"attempt":"x"}'],
  ['no number', '{"job":"a","attempt":1,"how":"exit","message":"m","stack":null}'],
  ['nothing', 'null'],
])('a suspected job whose file is %s is none: the death is unexplained', (_, text) => {
  const folder = scratch()
  writeFileSync(join(folder, 'suspected-job.json'), text)
  openInFlightJournal(folder, 'w-1').note('1/1')
  expect(buildCrashReports(folder, { ...nothing, signal: null, exitCode: 1 }).crashReport).toMatchObject({
    how: 'unexplained',
    suspectedJob: null,
  })
})

test('what a suspected job said may be of any length: not all of it is kept', () => {
  const folder = scratch()
  const long = 'x'.repeat(5_000_000)
  recordSuspectedJob(folder, { job: '1', attempt: 1, how: 'uncaught', message: long, stack: long })
  const { crashReport } = buildCrashReports(folder, { ...nothing, signal: null, exitCode: 1 })
  expect(crashReport.how).toBe('named')
  expect(JSON.stringify(crashReport).length).toBeLessThan(100_000)
})

const nothing = { memoryBytes: null, oomBefore: null, oomAfter: null, stderr: null }

test('an inquest makes a crash report for each worker of the process, with the same cause', () => {
  const folder = scratch()
  openInFlightJournal(folder, 'w-1').note('1/1')
  openInFlightJournal(folder, 'w-2').note('2/3')
  recordSuspectedJob(folder, { job: '2', attempt: 3, how: 'uncaught', message: 'boom', stack: null })
  recordSuspectedJob(folder, { job: '1', attempt: 1, how: 'exit', message: 'on the way down', stack: null })
  const { crashReport, pendingReports } = buildCrashReports(folder, { ...nothing, exitCode: 1, signal: null })
  expect(crashReport).toMatchObject({ how: 'named', suspectedJob: { job: '2' }, started: ['1/1', '2/3'] })
  expect(pendingReports).toMatchObject([
    { worker: 'w-1', crashReport: { how: 'named', started: ['1/1'], suspectedJob: { job: '2' } } },
    { worker: 'w-2', crashReport: { how: 'named', started: ['2/3'], suspectedJob: { job: '2' } } },
  ])
})

test('a process that had heard that it shall stop was asked to, whatever ended it then', () => {
  const folder = scratch()
  writeStatusFile(folder, 'asked')
  expect(buildCrashReports(folder, { ...nothing, exitCode: null, signal: 'SIGSEGV' }).crashReport.how).toBe('asked')
})

test('a crash report waits until it is removed, and one half-written is none', () => {
  const folder = scratch()
  const { crashReport } = buildCrashReports(folder, { ...nothing, exitCode: 1, signal: null })
  writePendingCrashReport(folder, { worker: 'w-1', crashReport })
  writePendingCrashReport(folder, { worker: 'w-1', crashReport })
  expect(readPendingCrashReports(folder)).toEqual([{ worker: 'w-1', crashReport }])
  removePendingCrashReport(folder, 'w-1')
  removePendingCrashReport(folder, 'w-1')
  expect(readPendingCrashReports(folder)).toEqual([])
  expect(readPendingCrashReports(join(folder, 'gone'))).toEqual([])
})

test('the folder of a supervisor is for its user alone, empty for every boot, and goes with it', () => {
  const place = scratch()
  const folder = makeCrashReportFolder([place])!
  const reportFolder = folder.reportFolder()
  expect(statSync(dirname(reportFolder)).mode & 0o777).toBe(0o700)
  writeStatusFile(reportFolder, 'ready')
  expect(readdirSync(folder.reportFolder())).toEqual([])
  folder.remove()
  expect(readdirSync(place)).toEqual([])
})

test('a folder in use does not look old, and what was cleared away all the same is no loss', () => {
  const folder = makeCrashReportFolder([scratch()])!
  const reportFolder = folder.reportFolder()
  writeStatusFile(reportFolder, 'ready')
  const long = new Date('2020-01-01')
  const all = [dirname(reportFolder), reportFolder, join(reportFolder, 'ready'), folder.pendingReports]
  for (const path of all) utimesSync(path, long, long)
  folder.touch()
  for (const path of all) expect(statSync(path).mtimeMs).toBeGreaterThan(long.getTime())
  rmSync(dirname(reportFolder), { recursive: true })
  const { crashReport, pendingReports } = buildCrashReports(reportFolder, { ...nothing, exitCode: 1, signal: null })
  expect([crashReport.how, pendingReports]).toEqual(['unexplained', []])
  writePendingCrashReport(folder.pendingReports, { worker: 'w-1', crashReport })
  expect(readPendingCrashReports(folder.pendingReports)).toHaveLength(1)
  expect(existsSync(folder.reportFolder())).toBe(true)
})

test('what a supervisor that was killed has left is removed by the next one, and nothing else', async () => {
  const place = scratch()
  const dead = spawn(process.execPath, ['-e', ''])
  await once(dead, 'exit')
  const ours = `retoma-crash-reports-${hostname().replace(/[^\w.]/g, '_')}-`
  const names = [
    `${ours}${dead.pid}-x`,
    `${ours}${process.ppid}-x`,
    `retoma-crash-reports-elsewhere-${dead.pid}-x`,
    'other',
  ]
  for (const name of names) mkdirSync(join(place, name))
  makeCrashReportFolder([place])
  expect(
    readdirSync(place)
      .filter(name => names.includes(name))
      .sort(),
  ).toEqual(names.slice(1).sort())
})

test('what another user has put under the name of a leftover stays where it is, and so does what a link leads to', async context => {
  if (process.getuid?.() !== 0) return context.skip('only root can make a folder of another user')
  const place = scratch()
  const dead = spawn(process.execPath, ['-e', ''])
  await once(dead, 'exit')
  const name = (end: string) =>
    join(place, `retoma-crash-reports-${hostname().replace(/[^\w.]/g, '_')}-${dead.pid}-${end}`)
  mkdirSync(join(place, 'victim', 'kept'), { recursive: true })
  mkdirSync(name('theirs'))
  chownSync(name('theirs'), 65534, 65534)
  symlinkSync(join(place, 'victim'), name('link'))
  mkdirSync(name('ours'))
  makeCrashReportFolder([place])
  expect(
    [name('theirs'), name('link'), name('ours'), join(place, 'victim', 'kept')].map(each => existsSync(each)),
  ).toEqual([true, true, false, true])
  // Where others may write, and what they like, nothing of root's own is removed either: it could be changed for a link meanwhile.
  mkdirSync(name('ours'))
  chmodSync(place, 0o777)
  makeCrashReportFolder([place])
  expect(existsSync(name('ours'))).toBe(true)
  chmodSync(place, 0o1777)
  makeCrashReportFolder([place])
  expect(existsSync(name('ours'))).toBe(false)
  // In a place that is another user's root keeps nothing.
  chownSync(place, 65534, 65534)
  expect(makeCrashReportFolder([place])).toBeUndefined()
})

test('where nothing can be written there is no folder, and where one place will do there is', () => {
  const place = scratch()
  expect(makeCrashReportFolder([join(place, 'gone')])).toBeUndefined()
  expect(dirname(dirname(makeCrashReportFolder([join(place, 'gone'), place])!.pendingReports))).toBe(place)
})

test('what a supervisor sets is for the process it started, and not for one that this one starts', () => {
  onTestFinished(() => {
    for (const name of ['RETOMA_CRASH_REPORT_FOLDER', 'RETOMA_SUPERVISOR']) delete process.env[name]
  })
  process.env.RETOMA_CRASH_REPORT_FOLDER = '/papers'
  process.env.RETOMA_SUPERVISOR = String(process.ppid)
  const supervision = new Supervision()
  expect(supervision.reportFolder).toBe('/papers')
  process.env.RETOMA_SUPERVISOR = '1234567'
  expect(supervision.reportFolder).toBeUndefined()
})

test.runIf(process.platform === 'linux')('the kernel tells what a process takes, and how often memory ran out', () => {
  expect(memoryOf(process.pid)).toBeGreaterThan(20e6)
  expect(memoryOf(0)).toBeNull()
  const kills = oomCounter()
  expect(kills()).toBeGreaterThanOrEqual(0)
})

test('a stderr tail keeps the last bytes', () => {
  const tail = createStderrTail(8)
  expect(tail.text).toBe('')
  for (const text of ['one ', 'two ', 'three ']) tail.add(Buffer.from(text))
  expect(tail.text).toBe('o three ')
  tail.add(Buffer.from('x'.repeat(20)))
  expect(tail.text).toBe('xxxxxxxx')
})
