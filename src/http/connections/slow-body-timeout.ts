/**
 * Cuts the connection of a client that sends its body too slowly. Node has one deadline for a whole request: 10 GB would need a deadline
 * of hours, and with such a deadline a client that sends one byte a minute would keep a connection for hours too.
 *
 * Invariant: in each period of `waitLimitMs`, an incomplete body brings at least `leastBytes`, or the connection is cut. The connection is
 * also cut if the body continues past `mostBytes` after the response. Bytes that the client has sent and the server has not read do not
 * count against the client; nor does time in which this process was blocked.
 */
import type { IncomingMessage } from 'node:http'
import { systemClock } from '../../lib/clock.ts'
import { yieldThen } from '../../lib/yield.ts'

/** Per period: over the default 120 s, 2 KB a second. */
const leastBytes = 256 * 1024
/** Bytes discarded after the response, for a client that reads the response only after sending everything. */
const mostBytes = 256 * 1024 * 1024

interface Arriving {
  /** The start of the current period, and the bytes the connection had received at that instant. */
  since: number
  bytes: number
  /** The bytes received when the headers were complete. */
  first: number
  cut: () => void
}

export class SlowBodyTimeout {
  readonly #waitLimitMs: number
  readonly #open = new Map<IncomingMessage, Arriving>()
  readonly #ended = new AbortController()

  constructor(waitLimitMs: number) {
    this.#waitLimitMs = waitLimitMs
    void this.#watch()
  }

  /** Called when the headers of the request are complete. */
  add(incoming: IncomingMessage, cut: () => void): void {
    const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers
    if (coding === undefined && (length === undefined || length === '0')) return
    const { bytesRead } = incoming.socket
    this.#open.set(incoming, { since: systemClock.elapsed(), bytes: bytesRead, first: bytesRead, cut })
    const { socket } = incoming
    // An answered request closes before its body is complete: the rest still arrives, and is still checked.
    incoming.once('close', () => {
      if (incoming.complete || socket.destroyed) this.#open.delete(incoming)
      else socket.once('close', () => void this.#open.delete(incoming))
    })
  }

  end(): void {
    this.#ended.abort()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#ended
    const stepMs = Math.min(this.#waitLimitMs / 4, 5000)
    while (!signal.aborted) {
      const began = systemClock.elapsed()
      await systemClock.sleep(stepMs, signal)
      // Sockets are read after timers: bytes that arrived while this process was blocked are counted before the check.
      await new Promise<void>(resolve => yieldThen(systemClock, resolve))
      const now = systemClock.elapsed()
      const blockedMs = Math.max(0, now - began - 2 * stepMs)
      for (const [incoming, arriving] of this.#open) {
        arriving.since += blockedMs
        if (now - arriving.since >= this.#waitLimitMs) this.#judge(incoming, arriving, now)
      }
    }
  }

  #judge(incoming: IncomingMessage, arriving: Arriving, now: number): void {
    const { bytesRead } = incoming.socket
    if (incoming.complete) this.#open.delete(incoming)
    else if (incoming.destroyed && bytesRead - arriving.first > mostBytes) this.#cut(incoming, arriving)
    else if (bytesRead - arriving.bytes >= leastBytes || incoming.readableLength > 0)
      Object.assign(arriving, { since: now, bytes: bytesRead })
    else this.#cut(incoming, arriving)
  }

  #cut(incoming: IncomingMessage, { cut }: Arriving): void {
    this.#open.delete(incoming)
    cut()
  }
}
