import { expect, test } from 'vitest'
import type { Check } from './check.ts'
import type { ServerFacts, TableSize, WorkFacts } from './facts.ts'
import {
  checkClock,
  checkConnections,
  checkDisk,
  checkDurability,
  checkPins,
  checkRights,
  checkSchema,
  checkVacuum,
  checkVersion,
} from './server.ts'
import { checkListen, checkPaused, checkStarved, checkWatchdog, checkWorkers } from './work.ts'

const server: ServerFacts = {
  version: '18.4',
  number: 180_004,
  fsync: true,
  fullPageWrites: true,
  synchronousCommit: true,
  autovacuum: true,
  standby: false,
  readOnly: false,
  maxConnections: 100,
  connections: 10,
  databaseBytes: 8e6,
  aheadMs: 0,
}
const job: TableSize = { name: 'job', bytes: 1, rows: 1, live: 10, dead: 0, vacuumOff: false, vacuumedSecondsAgo: null }
const work: WorkFacts = { live: 1, lost: [], paused: [] }
const pin = { pid: 7, name: 'report', state: 'idle in transaction', seconds: 600, transactions: 5 }
const starved = { queue: 'q', kind: 'k', jobs: 3, noWorker: true, oldestSeconds: 30 }

const rows: [string, Check, Check['verdict'], string][] = [
  ['the newest server', checkVersion(server), 'ok', '18.4'],
  ['the oldest one we promise', checkVersion({ ...server, version: '14.0', number: 140_000 }), 'ok', '14.0'],
  ['an older one', checkVersion({ ...server, version: '13.9', number: 130_009 }), 'failure', '13.9'],
  ['a standby', checkVersion({ ...server, standby: true }), 'failure', 'standby'],
  ['a clock a little off', checkClock({ ...server, aheadMs: -1999 }), 'ok', 'agree'],
  ['a clock that is ahead', checkClock({ ...server, aheadMs: 2000 }), 'warning', '2.0 s ahead'],
  ['a clock that is behind', checkClock({ ...server, aheadMs: -90_000 }), 'warning', '90.0 s behind'],
  ['the schema we know', checkSchema({ found: 3, known: 3 }), 'ok', '3'],
  ['an older schema', checkSchema({ found: 2, known: 3 }), 'failure', 'needs 3'],
  ['a newer schema', checkSchema({ found: 4, known: 3 }), 'failure', 'knows 3'],
  ['no schema', checkSchema({ found: 0, known: 3 }), 'failure', 'no schema'],
  ['all rights', checkRights({ user: 'u', missing: [], grant: 'g' }), 'ok', 'u'],
  [
    'a right that is missing',
    checkRights({ user: 'u', missing: ['insert on retoma.job'], grant: 'g' }),
    'failure',
    'insert on retoma.job',
  ],
  ['a durable server', checkDurability(server), 'ok', 'disk'],
  ['no fsync', checkDurability({ ...server, fsync: false }), 'warning', 'fsync'],
  ['no synchronous_commit', checkDurability({ ...server, synchronousCommit: false }), 'warning', 'synchronous_commit'],
  ['a disk of somebody else', checkDisk(server, undefined), 'ok', '8 MB'],
  ['much space', checkDisk(server, 5e9), 'ok', '5.0 GB'],
  ['little space', checkDisk(server, 5e8), 'warning', '500 MB'],
  ['no space', checkDisk(server, 5e7), 'failure', '50 MB'],
  ['few connections', checkConnections({ ...server, connections: 79 }), 'ok', '79 of 100'],
  ['many connections', checkConnections({ ...server, connections: 80 }), 'warning', '80 of 100'],
  ['autovacuum off', checkVacuum({ ...server, autovacuum: false }, [job]), 'warning', 'off'],
  ['autovacuum off for a table', checkVacuum(server, [{ ...job, vacuumOff: true }]), 'warning', 'retoma.job'],
  ['dead rows among more live ones', checkVacuum(server, [{ ...job, live: 3e5, dead: 2e5 }]), 'ok', 'removed'],
  ['dead rows that pile up', checkVacuum(server, [{ ...job, live: 10, dead: 2e5 }]), 'warning', 'retoma.job 200000'],
  ['nobody who pins', checkPins([]), 'ok', 'nobody'],
  [
    'a long transaction',
    checkPins([{ ...pin, what: 'transaction' }]),
    'warning',
    'for 10 min: report, pid 7, idle in transaction',
  ],
  [
    'a slot',
    checkPins([{ ...pin, what: 'unused slot', pid: null, state: null, seconds: null }]),
    'warning',
    '5 xids: report',
  ],
  ['LISTEN that works', checkListen('heard', false), 'ok', 'arrive'],
  ['LISTEN that does not', checkListen('lost', false), 'warning', 'up to 5 s'],
  ['a pooler that shares sessions', checkListen('shared', false), 'warning', 'every second'],
  ['a listener that cannot connect', checkListen(new Error('refused'), true), 'warning', 'refused'],
  ['nobody starves', checkStarved([]), 'ok', 'every'],
  ['a queue without a worker', checkStarved([starved]), 'warning', 'q/k 3 (30 s)'],
  ['more than one counts', checkStarved([{ ...starved, jobs: 10_000 }]), 'warning', '10000+'],
  ['live workers', checkWorkers(work), 'ok', '1'],
  [
    'lost workers',
    checkWorkers({ ...work, lost: [{ worker: 'w-1', jobs: 1, silentSeconds: null }] }),
    'warning',
    'running jobs of workers that are silent or gone: 1; the workers: w-1',
  ],
  ['nothing paused', checkPaused(work), 'ok', 'no work'],
  ['a paused queue', checkPaused({ ...work, paused: [{ queue: 'q', jobs: 2 }] }), 'warning', 'q 2'],
  ['a tick in time', checkWatchdog(12, work), 'ok', '12 s'],
  ['a tick that is late', checkWatchdog(61, work), 'failure', '61 s'],
  ['a tick that is late when all is off', checkWatchdog(7300, { ...work, live: 0 }), 'warning', '2 h'],
  ['no tick ever', checkWatchdog(null, work), 'failure', 'never'],
]

test.each(rows)('%s', (_, check, verdict, words) => {
  expect(check.verdict).toBe(verdict)
  expect(check.sentence.en).toContain(words)
  expect(check.sentence.pt).not.toBe('')
})

test('whatever is amiss comes with what to do about it, in both languages', () => {
  for (const [what, { verdict, advice, sentence }] of rows) {
    expect(advice === undefined, what).toBe(verdict === 'ok')
    if (verdict !== 'ok') expect(advice!.pt, what).not.toBe(advice!.en)
    if (verdict !== 'ok') expect(sentence.pt === sentence.en && /[a-z]{4}/.test(sentence.en), what).toBe(false)
  }
})
