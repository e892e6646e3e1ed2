/** The advisory locks of PostgreSQL that are ours, all of them here: two that have the same number keep each other out. */
export const lockKeys = {
  /** One process migrates at a time. */
  migration: 7_236_842_001,
  /** Held by the `up` that has a folder, for as long as it runs. */
  reservation: 7_236_842_002,
  /** Shared by every process that uses an embedded server. */
  presence: 7_236_842_003,
  /** One process gives positions to events at a time. */
  positions: 7_236_842_004,
} as const
