/** What a check-up looks at, as store/facts reads it. */
import type { Saying } from '../../errors.ts'

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
  /** Milliseconds the database's clock is ahead of ours, at least; negative: behind. */
  aheadMs: number
}

export interface RightsFacts {
  user: string
  /** Such as `insert on retoma.job`. */
  missing: string[]
  grant: string
}

/** Somebody who keeps dead rows from being removed. */
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
  /** Nobody works on the queue at all; otherwise there are workers, without this kind. */
  noWorker: boolean
  oldestSeconds: number
}

export interface WorkFacts {
  live: number
  lost: { worker: string; jobs: number; silentSeconds: number | null }[]
  paused: { queue: string; jobs: number }[]
}

/** What a watchdog found and only reports. */
export interface FindingFacts {
  verdict: 'hung' | 'slow' | 'starved'
  subject: string
}

/** shared: a pooler hands the sessions on, so nobody can listen in one. */
export type Hearing = 'heard' | 'lost' | 'shared'

/** A guard of a table that is not ours, and how its last look went. */
export interface GuardFacts {
  name: string
  lastError: Saying | null
  late: boolean
  warnings: readonly Saying[]
}
