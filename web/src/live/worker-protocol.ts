/** The messages between a tab and the shared worker that holds the event streams of all tabs. */
import type { LiveEvent, LiveStatus } from './connection.ts'

export type ToWorker = { do: 'follow' | 'leave'; url: string } | { do: 'stay' } | { do: 'close' }

export type FromWorker = { url: string; event: LiveEvent } | { url: string; status: LiveStatus }

/** A tab says so often that it is there; a tab in the background may do so only once a minute. */
export const stayEveryMs = 20_000
export const forgottenAfterMs = 180_000
