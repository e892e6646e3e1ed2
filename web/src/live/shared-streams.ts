/**
 * The side of a tab on the shared worker: follows addresses through the worker.
 *
 * Invariant: a tab whose worker sends nothing for 60 s shows `lost` and connects to the worker anew: the tab slept, or the browser ended
 * the worker. A tab that the worker has closed follows its addresses again.
 */
import { checkMs, type Listener, type LiveStatus, silentMs } from './connection.ts'
import { type FromWorker, type Port, stayEveryMs, type ToWorker } from './worker-protocol.ts'

export interface Streams {
  follow(url: string, listener: Listener): () => void
}

/** `connect`: a new port to the worker. */
export class SharedStreams implements Streams {
  readonly #connect: () => Port<ToWorker, FromWorker>
  #port: Port<ToWorker, FromWorker>
  readonly #listeners = new Map<string, Set<Listener>>()
  readonly #statuses = new Map<string, LiveStatus>()
  #messageAt = Date.now()

  constructor(connect: () => Port<ToWorker, FromWorker>) {
    this.#connect = connect
    this.#port = this.#newPort()
    setInterval(() => this.#send({ do: 'stay', urls: [...this.#listeners.keys()] }), stayEveryMs)
    setInterval(() => this.#check(), checkMs)
  }

  follow(url: string, listener: Listener): () => void {
    const all = this.#listeners.get(url) ?? new Set()
    if (all.size === 0) this.#send({ do: 'follow', url })
    this.#listeners.set(url, all.add(listener))
    const status = this.#statuses.get(url)
    if (status !== undefined) listener.onStatus(status)
    return () => {
      all.delete(listener)
      if (all.size > 0) return
      this.#listeners.delete(url)
      this.#statuses.delete(url)
      this.#send({ do: 'leave', url })
    }
  }

  /** Follows all addresses again: the worker gives their streams to this tab first. */
  toFront(): void {
    for (const url of this.#listeners.keys()) this.#send({ do: 'follow', url })
  }

  /** The page goes; `toFront` brings the page back. */
  close(): void {
    this.#send({ do: 'close' })
  }

  #newPort(): Port<ToWorker, FromWorker> {
    const port = this.#connect()
    port.onmessage = ({ data }) => {
      if (port === this.#port) this.#take(data)
    }
    return port
  }

  #send(message: ToWorker): void {
    this.#port.postMessage(message)
  }

  #take(message: FromWorker): void {
    this.#messageAt = Date.now()
    if ('isHere' in message) return
    if ('status' in message) this.#tell(message.url, message.status)
    else for (const listener of this.#listeners.get(message.url) ?? []) listener.onEvent(message.event)
  }

  #tell(url: string, status: LiveStatus): void {
    this.#statuses.set(url, status)
    for (const listener of this.#listeners.get(url) ?? []) listener.onStatus(status)
  }

  #check(): void {
    if (Date.now() - this.#messageAt < silentMs) return
    for (const url of this.#listeners.keys())
      this.#tell(url, { state: 'lost', lastAt: this.#statuses.get(url)?.lastAt ?? null })
    this.#messageAt = Date.now()
    this.close()
    this.#port = this.#newPort()
    this.toFront()
  }
}
