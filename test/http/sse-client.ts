/** A reader of event streams that parses them as the HTML standard says, over sockets or without. */
import { onTestFinished } from 'vitest'

export interface Heard {
  event: string
  /** The last that was sent, as EventSource gives it. */
  lastEventId: string
  /** Whether this one came with an id of its own. */
  hasId: boolean
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  data: any
}

class SseParser {
  lastEventId = ''
  retry: number | undefined
  #rest = ''
  #event = ''
  #data: string[] = []
  #hasId = false

  read(text: string): Heard[] {
    const found: Heard[] = []
    const lines = (this.#rest + text).split(/\r\n|\n|\r/)
    this.#rest = lines.pop()!
    for (const line of lines) {
      if (line === '') found.push(...this.#dispatch())
      else if (!line.startsWith(':')) this.#field(line)
    }
    return found
  }

  #field(line: string): void {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'event') this.#event = value
    if (name === 'data') this.#data.push(value)
    if (name === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
    if (name === 'id' && !value.includes('\0')) {
      this.lastEventId = value
      this.#hasId = true
    }
  }

  #dispatch(): Heard[] {
    const heard = {
      event: this.#event || 'message',
      lastEventId: this.lastEventId,
      hasId: this.#hasId,
      data: this.#data.length === 0 ? undefined : JSON.parse(this.#data.join('\n')),
    }
    const isEmpty = this.#data.length === 0
    this.#event = ''
    this.#data = []
    this.#hasId = false
    return isEmpty ? [] : [heard]
  }
}

export interface Listening {
  response: Response
  heard: Heard[]
  parser: SseParser
  /** All but heartbeats and progress, in short. */
  brief(): string[]
  ended: Promise<void>
  close(): void
}

type Fetch = (request: Request) => Promise<Response>

/** `lastEventId`: as a client that comes back sends it. */
export async function listenTo(url: string, given: { lastEventId?: string; fetch?: Fetch } = {}): Promise<Listening> {
  const { lastEventId, fetch: ask = globalThis.fetch } = given
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const headers = { 'accept-language': 'en', ...(lastEventId ? { 'last-event-id': lastEventId } : {}) }
  const response = await ask(new Request(url, { headers, signal: leaving.signal }))
  const heard: Heard[] = []
  const parser = new SseParser()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const read = async () => {
    for (;;) {
      const next = await reader?.read()
      if (!next || next.done) return
      heard.push(...parser.read(next.value))
    }
  }
  const ended = response.ok ? read() : Promise.resolve()
  ended.catch(() => {})
  // Without a socket nobody hears the signal.
  leaving.signal.addEventListener('abort', () => void reader?.cancel().catch(() => {}))
  return { response, heard, parser, brief: () => briefly(heard), ended, close: () => leaving.abort() }
}

export const briefly = (heard: readonly Heard[]): string[] =>
  heard.filter(({ event }) => event !== 'heartbeat' && event !== 'progress').map(inShort)

function inShort({ event, data }: Heard): string {
  if (event === 'state') return `${data.from} -> ${data.to}`
  if (event === 'item') return `item ${data.ref} ${data.state}`
  return event === 'action' ? `action ${data.what}` : event
}
