/**
 * The bodies that are on their way to a server. Node knows one deadline for a whole request: ten gigabytes would need hours of
 * it, and in those a client that sends a byte a minute would hold a connection as well.
 *
 * Invariant: a body that is not here whole after its patience has brought at least `leastBytes` in that time, and so on, or it is
 * cut; so is one that goes on past `mostBytes` after its answer. The client is not blamed for what it has sent and we have not read, nor
 * for the time in which this process was blocked.
 */
import type { IncomingMessage } from 'node:http'
import { systemClock } from '../lib/clock.ts'
import { afterThis } from '../lib/later.ts'

/** In each patience: over the default 120 s that is 2 KB a second. */
const leastBytes = 256 * 1024
/** Thrown away after the answer, for a client that reads it only once it has sent all. */
const mostBytes = 256 * 1024 * 1024

interface Arriving {
  /** When its present patience began, and how much its connection had brought by then. */
  since: number
  bytes: number
  /** The same when its headers were here. */
  first: number
  cut: () => void
}

export class Arrivals {
  readonly #patienceMs: number
  readonly #open = new Map<IncomingMessage, Arriving>()
  readonly #ended = new AbortController()

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
    void this.#watch()
  }

  /** Its headers are here. */
  add(incoming: IncomingMessage, cut: () => void): void {
    const { 'content-length': length, 'transfer-encoding': coding } = incoming.headers
    if (coding === undefined && (length === undefined || length === '0')) return
    const { bytesRead } = incoming.socket
    this.#open.set(incoming, { since: systemClock.elapsed(), bytes: bytesRead, first: bytesRead, cut })
    const { socket } = incoming
    // One that was answered is closed before its body is here: the rest is still on its way, and still judged.
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
    const stepMs = Math.min(this.#patienceMs / 4, 5000)
    while (!signal.aborted) {
      const began = systemClock.elapsed()
      await systemClock.sleep(stepMs, signal)
      // Sockets are read after timers: what came while this process was blocked is counted before anybody is judged.
      await new Promise<void>(resolve => afterThis(systemClock, resolve))
      const now = systemClock.elapsed()
      const blockedMs = Math.max(0, now - began - 2 * stepMs)
      for (const [incoming, arriving] of this.#open) {
        arriving.since += blockedMs
        if (now - arriving.since >= this.#patienceMs) this.#judge(incoming, arriving, now)
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
