/**
 * One event stream. Reconnects after every loss and continues behind the last event.
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
export const silentMs = 60_000
export const checkMs = 5000
const firstWaitMs = 1000
const longestWaitMs = 15_000

const types = ['progress', 'state', 'item', 'action', 'failure', 'reset', 'heartbeat']

export class Connection {
  readonly #url: string
  readonly #listener: Listener
  #source: EventSource | undefined
  #status: LiveStatus = { state: 'connecting', lastAt: null }
  #lastId = ''
  #waitMs = firstWaitMs
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: ReturnType<typeof setInterval> | undefined
  #messageAt = Date.now()

  /** Connects after `open`. */
  constructor(url: string, listener: Listener) {
    this.#url = url
    this.#listener = listener
  }

  get isOpen(): boolean {
    return this.#watch !== undefined
  }

  get status(): LiveStatus {
    return this.#status
  }

  open(): void {
    if (this.isOpen) return
    this.#watch = setInterval(() => this.#check(), checkMs)
    this.#connect()
  }

  /** Ends the stream. A later `open` continues behind the last event. */
  close(): void {
    clearInterval(this.#watch)
    this.#watch = undefined
    this.#disconnect()
    this.#waitMs = firstWaitMs
    this.#status = { ...this.#status, state: 'connecting' }
  }

  #connect(): void {
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
      if (source.readyState === EventSource.CLOSED) this.#reconnect()
    }
  }

  #take(type: string, { data, lastEventId }: MessageEvent<string>): void {
    this.#messageAt = Date.now()
    this.#waitMs = firstWaitMs
    if (lastEventId !== '') this.#lastId = lastEventId
    this.#status = { state: 'live', lastAt: this.#messageAt }
    this.#listener.onStatus(this.#status)
    if (type === 'heartbeat') return
    if (type === 'reset') this.#lastId = ''
    this.#listener.onEvent({ type, data: JSON.parse(data) as LiveEvent['data'] })
  }

  #check(): void {
    if (this.#source === undefined || Date.now() - this.#messageAt < silentMs) return
    this.#setState('lost')
    this.#reconnect()
  }

  #reconnect(): void {
    this.#disconnect()
    this.#timer = setTimeout(() => this.#connect(), this.#waitMs)
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs)
  }

  #disconnect(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#source?.close()
    this.#source = undefined
  }

  #setState(state: LiveStatus['state']): void {
    if (this.#status.state === state) return
    this.#status = { ...this.#status, state }
    this.#listener.onStatus(this.#status)
  }
}
