/** The messages between a tab and the shared worker that holds the event streams of all tabs. */
import type { LiveEvent, LiveStatus } from './connection.ts'

/**
 * `follow` of a followed address moves the address to the front: the tab is shown again. `stay` names all addresses that the tab follows,
 * because the worker may have closed the tab in the meantime.
 */
export type ToWorker =
  | { do: 'follow' | 'leave'; url: string }
  | { do: 'stay'; urls: readonly string[] }
  | { do: 'close' }

/** `isHere` answers `stay`: the worker runs, although no stream has a message. */
export type FromWorker = { url: string; event: LiveEvent } | { url: string; status: LiveStatus } | { isHere: true }

/** The part of a MessagePort that both sides use. */
export interface Port<Out, In> {
  postMessage(message: Out): void
  onmessage: ((event: { data: In }) => void) | null
}

/** A tab says so often that it is there; a tab in the background may do so only once a minute. */
export const stayEveryMs = 20_000
export const forgottenAfterMs = 180_000
