import { expect, test } from 'vitest'
import { type CrashObservation, makeCrashReport, type SuspectedJob } from './crash-report.ts'

const suspectedJob: SuspectedJob = { job: '17', attempt: 2, how: 'exit', message: 'exit code 3', stack: null }
const seen: CrashObservation = {
  signal: null,
  exitCode: null,
  askedToStop: false,
  memoryBytes: 5e8,
  oomBefore: 0,
  oomAfter: 0,
  started: ['17/2', '18/1'],
  suspectedJob: null,
  stderr: 'boom',
}

const unexplained = ['SIGSEGV', 'SIGABRT', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP', 'SIGSYS', 'SIGXCPU', 'SIGPIPE']
const asked = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGKILL']

test.each<[string, Partial<CrashObservation>, string, string]>([
  ...asked.map((signal): [string, Partial<CrashObservation>, string, string] => [signal, { signal }, 'asked', signal]),
  ...unexplained.map((signal): [string, Partial<CrashObservation>, string, string] => [
    signal,
    { signal },
    'unexplained',
    signal,
  ]),
  ['the kernel out of memory', { signal: 'SIGKILL', oomAfter: 1 }, 'unexplained', 'SIGKILL, out of memory'],
  ['SIGKILL long after the kernel', { signal: 'SIGKILL', oomBefore: 4, oomAfter: 4 }, 'asked', 'SIGKILL'],
  ['SIGKILL with no count at all', { signal: 'SIGKILL', oomBefore: null, oomAfter: null }, 'asked', 'SIGKILL'],
  ['SIGKILL with no count before', { signal: 'SIGKILL', oomBefore: null, oomAfter: 7 }, 'asked', 'SIGKILL'],
  [
    'its own hand, over its memory',
    { signal: 'SIGKILL', overMemory: true },
    'unexplained',
    'SIGKILL, over the memory it may have',
  ],
  [
    'its own hand, hung where nobody can be named',
    { signal: 'SIGKILL', hung: true },
    'unexplained',
    'SIGKILL, its main loop blocked',
  ],
  ['a segfault beside the kernel', { signal: 'SIGSEGV', oomAfter: 1 }, 'unexplained', 'SIGSEGV'],
  ['exit code 1', { exitCode: 1 }, 'unexplained', 'exit code 1'],
  ['exit code 0 that nobody asked for', { exitCode: 0 }, 'unexplained', 'exit code 0'],
  ['exit code 0 that was asked for', { exitCode: 0, askedToStop: true }, 'asked', 'exit code 0'],
  ['a segfault on the way out', { signal: 'SIGSEGV', askedToStop: true }, 'asked', 'SIGSEGV'],
  ['one that wants to be started again', { exitCode: 75 }, 'asked', 'exit code 75'],
  [
    'one that a job ended',
    { exitCode: 3, suspectedJob },
    'named',
    'exit code 3: job 17 called process.exit: exit code 3',
  ],
  [
    'one that its heartbeat thread killed while it stopped',
    { signal: 'SIGKILL', askedToStop: true, suspectedJob: { ...suspectedJob, how: 'timeout', message: '3 s' } },
    'named',
    'SIGKILL: job 17 blocked the process past its time: 3 s',
  ],
])('%s', (_, given, how, why) => {
  expect(makeCrashReport({ ...seen, ...given })).toMatchObject({ how, why })
})

test('a crash report keeps the evidence', () => {
  const crashReport = makeCrashReport({ ...seen, signal: 'SIGKILL', oomAfter: 1, suspectedJob })
  const { memoryBytes, started, stderr } = seen
  expect(crashReport).toMatchObject({
    oom: true,
    exitCode: null,
    signal: 'SIGKILL',
    memoryBytes,
    started,
    stderr,
    suspectedJob,
  })
})

test.each([
  ['a stop signal', { exitCode: 0, askedToStop: true }, true],
  ['a stop signal and the kill after it', { signal: 'SIGKILL', askedToStop: true }, true],
  ['a request for a restart', { exitCode: 75 }, true],
  ['a kill from outside', { signal: 'SIGKILL' }, false],
  ['a stop signal, and a job that ended the process', { exitCode: 1, askedToStop: true, suspectedJob }, false],
] as const)('%s: a stop was requested, or not', (_, given, stopRequested) => {
  expect(makeCrashReport({ ...seen, ...given })).toMatchObject({ stopRequested })
})
