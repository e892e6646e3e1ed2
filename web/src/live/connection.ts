/**
 * One event stream with all its listeners. Reconnects after every loss and continues behind the last event.
 *
 * Invariant: `live` means that a message came within the last 60 s. A stream that stays open and says nothing (a laptop that slept, a
 * proxy that forgot) counts as lost, and is opened anew.
 */

export interface LiveEvent {
  /** progress, state, item, action, failure, reset … */
  type: string
  /** The data of the event, from JSON. */
  data: Readonly<Record<string, unknown>>
}

export interface LiveStatus {
  state: 'connecting' | 'live' | 'lost'
  /** When the last message came, in milliseconds since 1970; null before the first message. */
  lastAt: number | null
}

export interface Listener {
  onEvent(event: LiveEvent): void
  onStatus(status: LiveStatus): void
}

/** The server sends a heartbeat every 15 to 20 s. */
const silentMs = 60_000
const checkMs = 5000
const firstWaitMs = 1000
const longestWaitMs = 15_000

const types = ['progress', 'state', 'item', 'action', 'failure', 'reset', 'heartbeat']

export class Connection {
  readonly #url: string
  readonly #listeners = new Set<Listener>()
  #source: EventSource | undefined
  #status: LiveStatus = { state: 'connecting', lastAt: null }
  #lastId = ''
  #waitMs = firstWaitMs
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: ReturnType<typeof setInterval> | undefined
  #messageAt = Date.now()

  constructor(url: string) {
    this.#url = url
  }

  get isUnused(): boolean {
    return this.#listeners.size === 0
  }

  add(listener: Listener): void {
    this.#listeners.add(listener)
    listener.onStatus(this.#status)
    if (this.#source === undefined && this.#timer === undefined) this.#open()
    this.#watch ??= setInterval(() => this.#check(), checkMs)
  }

  remove(listener: Listener): void {
    this.#listeners.delete(listener)
    if (!this.isUnused) return
    clearInterval(this.#watch)
    this.#watch = undefined
    this.#close()
  }

  #open(): void {
    this.#timer = undefined
    this.#messageAt = Date.now()
    const after = this.#lastId === '' ? '' : `?after=${encodeURIComponent(this.#lastId)}`
    const source = new EventSource(`${this.#url}${after}`, { withCredentials: true })
    this.#source = source
    for (const type of types) source.addEventListener(type, event => this.#take(type, event as MessageEvent<string>))
    source.onerror = () => {
      if (source !== this.#source) return
      this.#setState('lost')
      // An EventSource gives up after a status that is not 200; while it is connecting it tries again by itself.
      if (source.readyState === EventSource.CLOSED) this.#reopen()
    }
  }

  #take(type: string, { data, lastEventId }: MessageEvent<string>): void {
    this.#messageAt = Date.now()
    this.#waitMs = firstWaitMs
    if (lastEventId !== '') this.#lastId = lastEventId
    this.#status = { state: 'live', lastAt: this.#messageAt }
    this.#tell()
    if (type === 'heartbeat') return
    if (type === 'reset') this.#lastId = ''
    const event = { type, data: JSON.parse(data) as LiveEvent['data'] }
    for (const listener of this.#listeners) listener.onEvent(event)
  }

  #check(): void {
    if (this.#source === undefined || Date.now() - this.#messageAt < silentMs) return
    this.#setState('lost')
    this.#reopen()
  }

  #reopen(): void {
    this.#close()
    this.#timer = setTimeout(() => this.#open(), this.#waitMs)
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs)
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#source?.close()
    this.#source = undefined
  }

  #setState(state: LiveStatus['state']): void {
    if (this.#status.state === state) return
    this.#status = { ...this.#status, state }
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener.onStatus(this.#status)
  }
}
