/** All advisory locks of PostgreSQL that Retoma uses, in a single place: two locks with the same number would exclude each other. */
export const lockKeys = {
  /** A single process migrates at a time. */
  migration: 7_236_842_001,
  /** Held by the `up` command of a folder, for as long as the command runs. */
  reservation: 7_236_842_002,
  /** Shared by every process that uses an embedded PostgreSQL server. */
  presence: 7_236_842_003,
  /** A single process gives positions to events at a time. Combined with the table of events: each schema has its own lock. */
  positions: 7_236_842_004,
} as const
