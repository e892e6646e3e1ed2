/** A service outside that jobs ask: what is said to the engine about it, and how it stands. */

/** `asked`: when it was asked, as the engine told whoever did. */
export type ProviderWord =
  /** May it be asked? */
  | { how: 'ask' }
  | { how: 'answered'; owed: string }
  | { how: 'wait'; asked: string; retryAfterMs: number | null; code: string | null; message: string }
  | { how: 'stop'; asked: string; code: string | null; message: string }
  /** The one that was let through to a stopped one met trouble: it does not answer yet. */
  | { how: 'silent'; message: string }

export type ProviderStand =
  /** `owed`: what an answer would bring to an end; null: nothing. `probe`: it has stopped, and this one is let through. */
  | { how: 'open'; asked: string; owed: string | null; probe?: boolean }
  /** `ms`: until it may be asked again. */
  | { how: 'waiting' | 'stopped'; ms: number; code: string | null; message: string }

/** A provider as people see it. One that was never told to wait or stop is not known. */
export interface ProviderView {
  name: string
  state: 'open' | 'waiting' | 'stopped'
  /** Kinds of jobs that met it waiting or stopped. */
  kinds: string[]
  /** Of one that waits. */
  waitUntil: Date | null
  /** Waits in a row, without an answer in between. */
  waits: number
  /** When the first of those was; null: there is none. */
  waitsSince: Date | null
  stoppedAt: Date | null
  /** Of a stopped one: when it may be asked again. */
  probeAt: Date | null
  /** Of its last answer of that kind, and its own words. */
  code: string | null
  message: string | null
  at: Date
  /** Of a stopped one: what the last one that was let through to it met instead of an answer, and when. */
  trouble: string | null
  troubleAt: Date | null
}
