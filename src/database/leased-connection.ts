/** Types of a leased connection (connection-lease.ts). They contain no type of the driver, so users need not install its types. */
import type { JobQuery, QueryResult } from '../jobs/model/job-context.ts'

export type { QueryResult } from '../jobs/model/job-context.ts'

export interface LeasedConnection {
  /** A text of the engine may have several statements; a query of a handler always has one. */
  query(query: string | JobQuery, deadlineMs?: number): Promise<QueryResult>
  /** The error that made the connection unusable; undefined: none known. */
  readonly trouble: Error | undefined
  /** The session belongs to the user: only the handler's own statements may leave something behind in the session. */
  readonly isOfUser?: boolean
  /** 'ended': PostgreSQL has confirmed the end of the transaction. */
  release(how: 'ended' | 'in doubt'): void
}

export interface ConnectionLeases {
  lease(): Promise<LeasedConnection>
  close(): Promise<void>
  /** Closes all connections at once, without waiting. */
  hangUp(): void
}
