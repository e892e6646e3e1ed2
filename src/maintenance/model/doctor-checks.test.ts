import { expect, test } from 'vitest'
import type { Check } from './doctor-check.ts'
import type { GuardFacts, ServerFacts, TableSize, WorkFacts } from './doctor-facts.ts'
import { checkGuards } from './guard-checks.ts'
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
} from './server-checks.ts'
import { checkListen, checkPaused, checkStarved, checkWatchdog, checkWorkers } from './work-checks.ts'

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
const guard: GuardFacts = { name: 'g', lastError: null, late: false, warnings: [] }
const work: WorkFacts = { live: 1, lost: [], paused: [] }
const pin = { pid: 7, name: 'report', state: 'idle in transaction', seconds: 600, transactions: 5 }
const starved = { queue: 'q', kind: 'k', version: 1, jobs: 3, noWorker: true, oldestSeconds: 30 }

/** A promise, the check, the expected verdict, and a part of the sentence in each language. */
type Row = [promise: string, check: Check, verdict: Check['verdict'], en: string, pt: string]

const rows: Row[] = [
  ['the newest server is fine', checkVersion(server), 'ok', 'PostgreSQL 18.4', 'PostgreSQL 18.4'],
  [
    'the oldest server we promise is fine',
    checkVersion({ ...server, version: '14.0', number: 140_000 }),
    'ok',
    'PostgreSQL 14.0',
    'PostgreSQL 14.0',
  ],
  [
    'an older server is a failure',
    checkVersion({ ...server, version: '13.9', number: 130_009 }),
    'failure',
    'the server is PostgreSQL 13.9',
    'o servidor é PostgreSQL 13.9',
  ],
  [
    'a server that only reads is a failure: a standby',
    checkVersion({ ...server, standby: true }),
    'failure',
    'it is a standby',
    'é uma réplica',
  ],
  [
    'a server that only reads is a failure: by its settings',
    checkVersion({ ...server, readOnly: true }),
    'failure',
    'default_transaction_read_only is on',
    'default_transaction_read_only está ligado',
  ],
  ['clocks less than 2 s apart agree', checkClock({ ...server, aheadMs: -1999 }), 'ok', 'agree', 'batem'],
  [
    'a clock that is 2 s ahead is reported',
    checkClock({ ...server, aheadMs: 2000 }),
    'warning',
    '2.0 s ahead of',
    '2,0 s adiantado',
  ],
  [
    'a clock that is behind is shown as such',
    checkClock({ ...server, aheadMs: -90_000 }),
    'warning',
    '90.0 s behind',
    '90,0 s atrasado',
  ],
  ['the schema we know is fine', checkSchema({ found: 3, known: 3, systems: [] }), 'ok', 'version 3', 'versão 3'],
  [
    'an older schema is a failure',
    checkSchema({ found: 2, known: 3, systems: [] }),
    'failure',
    'needs 3',
    'precisa da 3',
  ],
  [
    'a newer schema is a failure',
    checkSchema({ found: 4, known: 3, systems: [] }),
    'failure',
    'knows 3',
    'conhece a 3',
  ],
  [
    'tables of a system that are older than its code are a failure',
    checkSchema({ found: 3, known: 3, systems: [{ name: 'shop', found: 1, known: 2 }] }),
    'failure',
    'the tables of the system shop, its code here needs 2',
    'das tabelas do sistema shop, o código aqui precisa da 2',
  ],
  [
    'tables of a system as its code knows them are fine',
    checkSchema({ found: 3, known: 3, systems: [{ name: 'shop', found: 2, known: 2 }] }),
    'ok',
    'version 3, shop 2',
    'versão 3, shop 2',
  ],
  [
    'no schema is a failure',
    checkSchema({ found: 0, known: 3, systems: [] }),
    'failure',
    'no schema',
    'não tem o esquema',
  ],
  [
    'who has all rights is fine',
    checkRights({ user: 'u', missing: [], grant: 'g' }),
    'ok',
    'the user u has',
    'o usuário u tem',
  ],
  [
    'a right that is missing is named',
    checkRights({ user: 'u', missing: ['insert on retoma.job'], grant: 'g' }),
    'failure',
    'the user u lacks insert on retoma.job',
    'o usuário u não tem insert on retoma.job',
  ],
  ['a server that keeps what it commits is fine', checkDurability(server), 'ok', 'on the disk', 'no disco'],
  [
    'a server that loses all with the power is reported',
    checkDurability({ ...server, fsync: false, fullPageWrites: false }),
    'warning',
    'off: fsync, full_page_writes',
    'desligado: fsync, full_page_writes',
  ],
  [
    'a server that loses the last commits with the power is reported',
    checkDurability({ ...server, synchronousCommit: false }),
    'warning',
    'off: synchronous_commit',
    'desligado: synchronous_commit',
  ],
  [
    'of a disk that we do not see only the database is reported',
    checkDisk({ ...server, databaseBytes: 8.5e6 }, undefined),
    'ok',
    'the database has 8.5 MB',
    'o banco tem 8,5 MB',
  ],
  ['a disk with 1 GB left is fine', checkDisk(server, 1e9), 'ok', 'its disk 1 GB left', 'o disco tem 1 GB livres'],
  ['a disk with less is reported', checkDisk(server, 9.876e8), 'warning', '987.6 MB left', '987,6 MB livres'],
  ['a disk with next to nothing is a failure', checkDisk(server, 5e7), 'failure', '50 MB left', '50 MB livres'],
  [
    'connections are fine below four fifths',
    checkConnections({ ...server, connections: 79 }),
    'ok',
    '79 of 100',
    '79 de 100',
  ],
  [
    'connections that run out are reported',
    checkConnections({ ...server, connections: 80 }),
    'warning',
    '80 of 100',
    '80 de 100',
  ],
  [
    'autovacuum that is off is reported',
    checkVacuum({ ...server, autovacuum: false }, [job]),
    'warning',
    'track_counts is off',
    'track_counts está desligado',
  ],
  [
    'autovacuum that is off for one table is shown with the table',
    checkVacuum(server, [{ ...job, vacuumOff: true }]),
    'warning',
    'off for retoma.job',
    'desligado para retoma.job',
  ],
  [
    'dead rows are fine among more live ones',
    checkVacuum(server, [{ ...job, live: 3e5, dead: 2e5 }]),
    'ok',
    'are removed',
    'são removidas',
  ],
  [
    'dead rows that pile up are shown with their table',
    checkVacuum(server, [{ ...job, live: 10, dead: 2e5 }]),
    'warning',
    'than live ones: retoma.job 200000',
    'que vivas: retoma.job 200000',
  ],
  ['nobody who keeps dead rows is fine', checkPins([]), 'ok', 'nobody', 'ninguém'],
  [
    'a long transaction is shown with who, what and how long',
    checkPins([{ ...pin, what: 'transaction' }]),
    'warning',
    'for 10 min: report, pid 7, idle in transaction',
    'há 10 min: report, pid 7, idle in transaction',
  ],
  [
    'a slot that nobody reads is shown with how far it is behind',
    checkPins([{ ...pin, what: 'unused slot', pid: null, state: null, seconds: null }]),
    'warning',
    'for 5 xids: report',
    'há 5 xids: report',
  ],
  ['hints that arrive are fine', checkListen('received', false), 'ok', 'notifications arrive', 'notificações chegam'],
  [
    'hints that get lost are reported, with the wait that costs',
    checkListen('lost', false),
    'warning',
    'up to 5 s later',
    'até 5 s depois',
  ],
  [
    'a pooler that lets no hint through is reported, with the wait that costs',
    checkListen('shared', false),
    'warning',
    'every second',
    'a cada segundo',
  ],
  [
    'a listener that cannot connect is shown with the reason',
    checkListen(new Error('refused'), true),
    'warning',
    'did not arrive: refused',
    'não chegou: refused',
  ],
  ['ready jobs that are taken are fine', checkStarved([]), 'ok', 'every ready job', 'todo job pronto'],
  [
    'ready jobs that no worker takes are reported: queue, kind, how many, how long',
    checkStarved([starved]),
    'warning',
    'takes: q/k 3 (30 s)',
    'pega: q/k 3 (30 s)',
  ],
  [
    'a count that stopped says so',
    checkStarved([{ ...starved, jobs: 10_000 }]),
    'warning',
    'q/k 10000+ (',
    'q/k 10000+ (',
  ],
  ['workers that live are fine', checkWorkers(work), 'ok', 'workers alive: 1', 'workers vivos: 1'],
  [
    'jobs of lost workers are shown with the workers',
    checkWorkers({ ...work, lost: [{ worker: 'w-1', jobs: 1, silentSeconds: null }] }),
    'warning',
    'running jobs of workers that are silent or gone: 1; the workers: w-1',
    'jobs em execução de workers calados ou sumidos: 1; os workers: w-1',
  ],
  ['no queue that is paused is fine', checkPaused(work), 'ok', 'no work waits', 'nada espera'],
  [
    'a paused queue in which jobs wait is reported',
    checkPaused({ ...work, paused: [{ queue: 'q', jobs: 2 }] }),
    'warning',
    'waiting jobs: q 2',
    'jobs esperando: q 2',
  ],
  ['a watchdog in time is fine', checkWatchdog(12, work), 'ok', '12 s ago', 'há 12 s'],
  ['a late watchdog is a failure while workers live', checkWatchdog(61, work), 'failure', '1 min ago', 'há 1 min'],
  [
    'a late watchdog is only reported when all is off',
    checkWatchdog(7300, { ...work, live: 0 }),
    'warning',
    '2 h ago',
    'há 2 h',
  ],
  [
    'a watchdog that never checked is a failure while workers live',
    checkWatchdog(null, work),
    'failure',
    'never ticked',
    'nunca rodou',
  ],
  ['no guards are fine', checkGuards([]), 'ok', 'there are none', 'não há nenhum'],
  ['guards that look are fine', checkGuards([guard, guard]), 'ok', 'when they should: 2', 'quando devem: 2'],
  [
    'a guard that failed is reported, before one that is late',
    checkGuards([
      { ...guard, late: true },
      { ...guard, name: 'h', lastError: { en: 'no table', pt: 'sem tabela' } },
    ]),
    'warning',
    'the last sweep of h failed: no table',
    'a última busca de h falhou: sem tabela',
  ],
  [
    'a guard that is late is reported',
    checkGuards([guard, { ...guard, name: 'h', late: true }]),
    'warning',
    'with a late sweep: h',
    'com varredura atrasada: h',
  ],
  [
    'a guard that reads whole tables is reported',
    checkGuards([{ ...guard, warnings: [{ en: 'no index', pt: 'sem índice' }] }]),
    'warning',
    'g: no index',
    'g: sem índice',
  ],
]

test.each(rows)('%s', (_, check, verdict, en, pt) => {
  expect(check.verdict).toBe(verdict)
  expect(check.sentence.en).toContain(en)
  expect(check.sentence.pt).toContain(pt)
})

test('whatever is amiss comes with what to do about it, in both languages', () => {
  for (const [what, { verdict, advice }] of rows) {
    expect(advice === undefined, what).toBe(verdict === 'ok')
    if (verdict !== 'ok') expect(advice!.pt, what).not.toBe(advice!.en)
  }
})
