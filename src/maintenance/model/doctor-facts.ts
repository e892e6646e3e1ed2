/** Defines the facts for the checks of the doctor; maintenance/sql/read-doctor-facts reads the facts. */
import type { LocalizedText } from '../../errors/errors.ts'

export interface ServerFacts {
  version: string
  number: number
  fsync: boolean
  fullPageWrites: boolean
  synchronousCommit: boolean
  autovacuum: boolean
  standby: boolean
  readOnly: boolean
  maxConnections: number
  connections: number
  databaseBytes: number
  /** Lower bound of the milliseconds by which the clock of the database is ahead of ours; negative: behind. */
  aheadMs: number
}

/** The version of the tables in the database, and the version in this code: of the engine, and of each system of the config. */
export interface SchemaFacts {
  found: number
  known: number
  systems: readonly { name: string; found: number; known: number }[]
}

export interface RightsFacts {
  user: string
  /** For example `insert on retoma.job`. */
  missing: string[]
  grant: string
}

/** A transaction, slot or standby that prevents the removal of dead rows. */
export interface LongTransaction {
  what: 'transaction' | 'prepared' | 'slot' | 'unused slot' | 'standby'
  pid: number | null
  name: string
  state: string | null
  seconds: number | null
  transactions: number
}

export interface TableSize {
  name: string
  bytes: number
  rows: number
  live: number
  dead: number
  vacuumOff: boolean
  vacuumedSecondsAgo: number | null
}

export interface StarvedFacts {
  queue: string
  kind: string
  version: number
  jobs: number
  /** No worker serves the queue; otherwise the queue has workers without this kind. */
  noWorker: boolean
  oldestSeconds: number
}

export interface WorkFacts {
  live: number
  lost: { worker: string; jobs: number; silentSeconds: number | null }[]
  paused: { queue: string; jobs: number }[]
}

/** A finding of the watchdog. */
export interface FindingFacts {
  verdict: 'hung' | 'slow' | 'starved'
  subject: string
}

/** shared: a pooler shares the sessions, so that LISTEN does not work. */
export type NotificationTest = 'received' | 'lost' | 'shared'

/** A guard over a table of the user, and the result of its last sweep. */
export interface GuardFacts {
  name: string
  lastError: LocalizedText | null
  late: boolean
  warnings: readonly LocalizedText[]
}
