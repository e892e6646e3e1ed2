/**
 * Events as a browser's EventSource reads them: any async iterable as a Response. The engine's routes use it
 * (routes/events.ts), and so do apps that tell theirs in other words.
 *
 * Invariant: what a client has not read yet is at most 64 KB here; beyond that its events are not asked for, and one that
 * has read nothing of what waits for ten seconds is cut off. It comes back with Last-Event-ID and has missed nothing. When
 * a client goes, nothing of it is left: no timer, no listener, no iterator.
 */
import { isRetomaError } from '../errors.ts'
import { systemRandom } from '../lib/random.ts'
import type { Call } from './route.ts'
import type { OpenStream } from './streams.ts'

const mostWaiting = 64 * 1024
const patienceMs = 10_000
/** The heart looks every five seconds, so the longest silence is twenty. */
const beatMs = 15_000
const readmitMs = 60_000

/** One event as it is sent; `data` becomes JSON. */
export interface Told {
  event: string
  /** What comes back as Last-Event-ID. */
  id?: string
  data: unknown
}

export interface SseOptions<T> {
  /** undefined: not told at all. The same object is told in the same words to everybody. */
  tell(event: T): Told | undefined
  /** Seconds without progress, for the heartbeat; null, or left out: since this stream last told something. */
  idleSeconds?(): number | null
}

/** Ends when `events` does, when the server closes, or when the client goes; then the iterator's return() is called. */
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
    // no-transform: what compresses answers would hold them back until it has enough.
    'cache-control': 'no-store, no-transform',
    // nginx holds answers back too, unless told not to.
    'x-accel-buffering': 'no',
  })

const encoder = new TextEncoder()

/** JSON has no line breaks of its own, so one data line is enough. */
const encode = ({ event, id, data }: Told): Uint8Array =>
  encoder.encode(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`)

/** By how it is told, then by what: an event that goes to a thousand clients is written once. */
const written = new WeakMap<object, WeakMap<object, Uint8Array | null>>()

function writtenOnce<T extends object>(tell: SseOptions<T>['tell'], event: T): Uint8Array | null {
  const ofTell = written.get(tell) ?? new WeakMap<object, Uint8Array | null>()
  written.set(tell, ofTell)
  const before = ofTell.get(event)
  if (before !== undefined) return before
  const told = tell(event)
  const bytes = told === undefined ? null : encode(told)
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
  /** Since when something waits for the client. */
  #waitsFrom: number | undefined
  /** The client has taken everything and waits for more. */
  #hungry = false
  /** Nothing more comes: what waits is sent, then it ends. */
  #ending = false
  #gone = false
  #toldAt: number
  #beatAt: number
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
    this.#toldAt = this.#beatAt = this.#admittedAt = this.#elapsed()
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
      // It is asked for more only when the last is written.
      { highWaterMark: 0 },
    )
    // It comes back: some after a second and some after two, so that a restart is not followed by all of them at once. The beat makes a
    // proxy pass on that it has begun.
    this.#send(encoder.encode(`retry: ${1000 + Math.floor(systemRandom() * 1000)}\n\n`))
    this.#beat()
    call.streams.add(this)
    void this.#pump()
  }

  /** Reads on as long as the client does. */
  async #pump(): Promise<void> {
    try {
      while (!this.#ending && !this.#gone) {
        const next = await this.#events.next()
        if (next.done) break
        const bytes = writtenOnce(this.#options.tell, next.value)
        if (bytes === null) continue
        this.#toldAt = this.#elapsed()
        this.#send(bytes)
        while (this.#bytes >= mostWaiting && !this.#ending && !this.#gone)
          await new Promise<void>(resolve => (this.#drained = resolve))
      }
    } catch (error) {
      this.#call.log.error({ err: error }, 'a stream of events broke off')
    }
    this.end()
  }

  look(): void {
    const now = this.#elapsed()
    if (this.#waitsFrom !== undefined && now - this.#waitsFrom >= patienceMs) this.#drop()
    if (this.#ending || this.#gone) return
    if (now - this.#admittedAt >= readmitMs) {
      this.#admittedAt = now
      // Only a plain no ends it: a database that is away says nothing about who may read.
      this.#call.readmit().catch(error => isRetomaError(error) && error.status < 500 && this.end())
    }
    if (now - this.#beatAt >= beatMs) this.#beat()
  }

  end(): void {
    if (this.#ending || this.#gone) return
    this.#ending = true
    this.#letGo()
    this.#flush()
  }

  #beat(): void {
    const now = this.#elapsed()
    this.#beatAt = now
    const idle = this.#options.idleSeconds?.() ?? (now - this.#toldAt) / 1000
    const data = {
      at: this.#call.streams.clock.now().toISOString(),
      segundos_sem_progresso: Math.round(idle * 10) / 10,
    }
    this.#send(encode({ event: 'heartbeat', data }))
  }

  #send(bytes: Uint8Array): void {
    if (this.#ending || this.#gone) return
    this.#waiting.push(bytes)
    this.#bytes += bytes.byteLength
    this.#waitsFrom ??= this.#elapsed()
    this.#flush()
  }

  /** All that waits goes as one piece, to a client that waits for it. */
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

  /** It reads too slowly. What it has not read is thrown away; a clean end would wait for it. */
  #drop(): void {
    this.#call.log.info({ address: this.#call.peer.address }, 'a client that does not read its events was cut off')
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

  /** Of its events; whatever of them waits may still be sent. */
  #letGo(): void {
    this.#drained()
    void Promise.resolve(this.#events.return?.()).catch(() => {})
  }

  #elapsed = (): number => this.#call.streams.clock.elapsed()
}
