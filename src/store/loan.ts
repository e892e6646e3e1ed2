/** A connection lent for one transaction: see lend.ts. No type of the driver's shows, so that users need not have its types. */
import type { JobQuery } from '../core/context.ts'

export interface Answer {
  rows: unknown[]
  rowCount: number | null
  /** What PostgreSQL says it did: INSERT, COMMIT, ROLLBACK … */
  command: string
}

export interface Loan {
  /** A text that is ours may hold several statements; a query of a handler's is always one. */
  query(query: string | JobQuery, deadlineMs?: number): Promise<Answer>
  /** Why the link is of no more use; undefined: it stands, as far as anybody knows. */
  readonly trouble: Error | undefined
  /** 'ended': its transaction is over, by an answer of PostgreSQL's. */
  giveBack(how: 'ended' | 'in doubt'): void
}

export interface Loans {
  lend(): Promise<Loan>
  close(): Promise<void>
  /** Without waiting for anybody. */
  hangUp(): void
}
