/**
 * Sends events in the format of a browser's EventSource: any async iterable as a Response. The engine's routes use this
 * (routes/events.ts), and so do applications with other words for their events.
 *
 * Invariant: at most 64 KB per client wait unread in this process; beyond 64 KB no further events are read, and a client that reads
 * nothing for 10 s is cut off. The client reconnects with Last-Event-ID and misses nothing. When a client disconnects, no timer, listener
 * or iterator remains.
 */
import { isRetomaError } from '../../errors/errors.ts'
import { systemRandom } from '../../lib/random.ts'
import type { Call } from '../route.ts'
import type { OpenStream } from './open-streams.ts'

const mostWaiting = 64 * 1024
const waitLimitMs = 10_000
/** The loop of open-streams.ts checks every 5 s, so the longest silence is 20 s. */
const heartbeatMs = 15_000
const readmitMs = 60_000

/** An event as sent; `data` becomes JSON. */
export interface SseMessage {
  event: string
  /** The id that a client returns as Last-Event-ID. */
  id?: string
  data: unknown
}

/** Options of `sse`. */
export interface SseOptions<T> {
  /** Returns undefined to leave out the event. The same event object is serialised once for all clients. */
  toMessage(event: T): SseMessage | undefined
  /**
   * Seconds without progress, for the heartbeat event; null: unknown. Default: the time since the last event of this
   * stream.
   */
  idleSeconds?(): number | null
  /** The data of a heartbeat event. Default: `at` and `idle_seconds`. */
  heartbeat?(facts: { at: string; idleSeconds: number }): object
}

/** Ends when `events` ends, when the server closes, or when the client disconnects; then the iterator's return() is called. */
export function sse<T extends object>(
  call: Pick<Call, 'streams' | 'peer' | 'log' | 'readmit'>,
  events: AsyncIterable<T>,
  options: SseOptions<T>,
): Response {
  return new Response(new SseStream(call, events, options).body, { headers: sseHeaders() })
}

export const sseHeaders = (): Headers =>
  new Headers({
    'content-type': 'text/event-stream',
    // no-transform: a compressing proxy would buffer the events.
    'cache-control': 'no-store, no-transform',
    // nginx buffers responses too, unless this header forbids it.
    'x-accel-buffering': 'no',
  })

const encoder = new TextEncoder()

/** JSON contains no line breaks, so a single data line is enough. */
const encode = ({ event, id, data }: SseMessage): Uint8Array =>
  encoder.encode(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`)

/** By `toMessage` function, then by event: an event for 1,000 clients is serialised once. */
const written = new WeakMap<object, WeakMap<object, Uint8Array | null>>()

function writtenOnce<T extends object>(toMessage: SseOptions<T>['toMessage'], event: T): Uint8Array | null {
  const ofTell = written.get(toMessage) ?? new WeakMap<object, Uint8Array | null>()
  written.set(toMessage, ofTell)
  const before = ofTell.get(event)
  if (before !== undefined) return before
  const message = toMessage(event)
  const bytes = message === undefined ? null : encode(message)
  ofTell.set(event, bytes)
  return bytes
}

class SseStream<T extends object> implements OpenStream {
  readonly body: ReadableStream<Uint8Array>
  readonly #call: Pick<Call, 'streams' | 'peer' | 'log' | 'readmit'>
  readonly #events: AsyncIterator<T>
  readonly #options: SseOptions<T>
  #controller!: ReadableStreamDefaultController<Uint8Array>
  #waiting: Uint8Array[] = []
  #bytes = 0
  /** The instant since which bytes wait for the client. */
  #waitsFrom: number | undefined
  /** The client has read everything and waits for more. */
  #hungry = false
  /** No further events: the waiting bytes are sent, then the stream ends. */
  #ending = false
  #gone = false
  #sentAt: number
  #heartbeatAt: number
  #admittedAt: number
  #drained = () => {}

  constructor(
    call: Pick<Call, 'streams' | 'peer' | 'log' | 'readmit'>,
    events: AsyncIterable<T>,
    options: SseOptions<T>,
  ) {
    this.#call = call
    this.#options = options
    this.#events = events[Symbol.asyncIterator]()
    this.#sentAt = this.#heartbeatAt = this.#admittedAt = this.#elapsed()
    this.body = new ReadableStream<Uint8Array>(
      {
        start: controller => {
          this.#controller = controller
        },
        pull: () => {
          this.#hungry = true
          this.#flush()
        },
        cancel: () => this.#leave(),
      },
      // The stream is pulled only after the last bytes were written.
      { highWaterMark: 0 },
    )
    // Clients reconnect after 1 to 2 s, at random, so that a restart is not followed by all clients at once. The first heartbeat makes a
    // proxy forward the start of the response.
    this.#send(encoder.encode(`retry: ${1000 + Math.floor(systemRandom() * 1000)}\n\n`))
    this.#sendHeartbeat()
    call.streams.add(this)
    void this.#pump()
  }

  /** Reads events as fast as the client reads. */
  async #pump(): Promise<void> {
    try {
      while (!this.#ending && !this.#gone) {
        const next = await this.#events.next()
        if (next.done) break
        const bytes = writtenOnce(this.#options.toMessage, next.value)
        if (bytes === null) continue
        this.#sentAt = this.#elapsed()
        this.#send(bytes)
        while (this.#bytes >= mostWaiting && !this.#ending && !this.#gone)
          await new Promise<void>(resolve => (this.#drained = resolve))
      }
    } catch (error) {
      this.#call.log.error({ err: error }, 'an event stream ended with an error')
    }
    this.end()
  }

  check(): void {
    const now = this.#elapsed()
    if (this.#waitsFrom !== undefined && now - this.#waitsFrom >= waitLimitMs) this.#drop()
    if (this.#ending || this.#gone) return
    if (now - this.#admittedAt >= readmitMs) {
      this.#admittedAt = now
      // Only a clear refusal ends the stream: an unreachable database does not mean that the client lost access.
      this.#call.readmit().catch(error => isRetomaError(error) && error.status < 500 && this.end())
    }
    if (now - this.#heartbeatAt >= heartbeatMs) this.#sendHeartbeat()
  }

  end(): void {
    if (this.#ending || this.#gone) return
    this.#ending = true
    this.#letGo()
    this.#flush()
  }

  #sendHeartbeat(): void {
    const now = this.#elapsed()
    this.#heartbeatAt = now
    const idle = this.#options.idleSeconds?.() ?? (now - this.#sentAt) / 1000
    const at = this.#call.streams.clock.now().toISOString()
    const idleSeconds = Math.round(idle * 10) / 10
    const data = this.#options.heartbeat?.({ at, idleSeconds }) ?? { at, idle_seconds: idleSeconds }
    this.#send(encode({ event: 'heartbeat', data }))
  }

  #send(bytes: Uint8Array): void {
    if (this.#ending || this.#gone) return
    this.#waiting.push(bytes)
    this.#bytes += bytes.byteLength
    this.#waitsFrom ??= this.#elapsed()
    this.#flush()
  }

  /** Sends all waiting bytes as a single piece, if the client waits for more. */
  #flush(): void {
    if (!this.#hungry || this.#gone) return
    if (this.#waiting.length > 0) {
      this.#hungry = false
      this.#controller.enqueue(this.#waiting.length === 1 ? this.#waiting[0]! : Buffer.concat(this.#waiting))
      this.#waiting = []
      this.#bytes = 0
      this.#waitsFrom = undefined
      this.#drained()
    }
    if (!this.#ending) return
    this.#leave()
    this.#controller.close()
  }

  /** Cuts off a client that reads too slowly and discards the unread bytes; a clean end would wait for the client. */
  #drop(): void {
    this.#call.log.info({ address: this.#call.peer.address }, 'closed the event stream of a client that does not read')
    this.#leave()
    if (this.#call.peer.cut) this.#call.peer.cut()
    else this.#controller.error(new Error('the client does not read its events'))
  }

  #leave(): void {
    this.#gone = true
    this.#waiting = []
    this.#bytes = 0
    this.#waitsFrom = undefined
    this.#call.streams.remove(this)
    this.#letGo()
  }

  /** Closes the event iterator; waiting bytes may still be sent. */
  #letGo(): void {
    this.#drained()
    void Promise.resolve(this.#events.return?.()).catch(() => {})
  }

  #elapsed = (): number => this.#call.streams.clock.elapsed()
}
