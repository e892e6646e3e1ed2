/** Defines the messages between worker and engine about a provider, and the view of a provider. */

/** `asked`: instant of the request, from the `open` answer of the engine. */
export type ProviderWord =
  /** Asks for permission to call the provider. */
  | { how: 'ask' }
  | { how: 'answered'; owed: string }
  | {
      how: 'wait'
      asked: string
      retryAfterMs: number | null
      neverStops: boolean
      code: string | null
      message: string
    }
  | { how: 'stop'; asked: string; code: string | null; message: string }
  /** The probe of a stopped provider got no answer. */
  | { how: 'silent'; message: string }

export type ProviderPermission =
  /**
   * `owed`: token of the wait or stop that an answer of the provider ends; null: none. `probe`: the provider has stopped, and
   * this request is the probe.
   */
  | { how: 'open'; asked: string; owed: string | null; probe?: boolean }
  /** `ms`: time until the next allowed request. */
  | { how: 'waiting' | 'stopped'; ms: number; code: string | null; message: string }

/** View of a provider. A provider that never asked for a wait or a stop has no row. */
export interface ProviderView {
  name: string
  state: 'open' | 'waiting' | 'stopped'
  /** Kinds whose jobs met the provider waiting or stopped. */
  kinds: string[]
  /** Waiting provider only. */
  waitUntil: Date | null
  /** Waits in a row, without an answer in between. */
  consecutiveWaits: number
  /** Begin of the waits in a row; null: none. */
  waitsSince: Date | null
  stoppedAt: Date | null
  /** Stopped provider only: instant of the next allowed probe. */
  probeAt: Date | null
  /** Code and message of the provider's last wait or stop. */
  code: string | null
  message: string | null
  at: Date
  /** Stopped provider only: result of the last probe without an answer, and its instant. */
  probeError: string | null
  probeErrorAt: Date | null
}
