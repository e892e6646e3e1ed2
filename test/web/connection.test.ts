/** The event streams of the dashboard and its shared worker, on a virtual clock, with a stand-in for the stream of the browser. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Connection, type LiveStatus } from '../../web/src/live/connection.ts'
import { SharedStreams } from '../../web/src/live/shared-streams.ts'
import { StreamPool } from '../../web/src/live/stream-pool.ts'
import { TabHub } from '../../web/src/live/tab-hub.ts'
import type { FromWorker, Port, ToWorker } from '../../web/src/live/worker-protocol.ts'

/** An `EventSource` that stays open and says what a test says. */
class Stream extends EventTarget {
  static readonly CLOSED = 2
  static readonly opened: Stream[] = []
  readyState = 1
  readonly url: string

  constructor(url: string) {
    super()
    this.url = url
    Stream.opened.push(this)
  }

  close(): void {
    this.readyState = Stream.CLOSED
  }

  says(type: string, lastEventId = ''): void {
    this.dispatchEvent(new MessageEvent(type, { data: '{}', lastEventId }))
  }
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('EventSource', Stream)
  Stream.opened.length = 0
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function followed() {
  const statuses: LiveStatus['state'][] = []
  const listener = { onEvent: () => {}, onStatus: ({ state }: LiveStatus) => statuses.push(state) }
  const connection = new Connection('/events', listener)
  connection.open()
  return { statuses, stop: () => connection.close() }
}

test('a stream that is open and silent for 60 s counts as lost and is opened anew after the last event', () => {
  const { statuses, stop } = followed()
  const [first] = Stream.opened
  first!.says('progress', '41')
  vi.advanceTimersByTime(55_000)
  expect(statuses.at(-1)).toBe('live')
  vi.advanceTimersByTime(10_000)
  expect(statuses.at(-1)).toBe('lost')
  expect(first!.readyState).toBe(Stream.CLOSED)
  expect(Stream.opened.map(({ url }) => url)).toEqual(['/events', '/events?after=41'])
  Stream.opened[1]!.says('heartbeat')
  expect(statuses.at(-1)).toBe('live')
  stop()
})

test('a heartbeat every 20 s keeps a stream without events', () => {
  const { statuses, stop } = followed()
  for (let n = 0; n < 30; n++) {
    Stream.opened[0]!.says('heartbeat')
    vi.advanceTimersByTime(20_000)
  }
  expect(statuses).not.toContain('lost')
  expect(Stream.opened).toHaveLength(1)
  stop()
})

/** A listener that keeps the last state and counts events. */
function listening() {
  const heard = {
    state: undefined as LiveStatus['state'] | undefined,
    events: 0,
    onEvent() {
      heard.events++
    },
    onStatus({ state }: LiveStatus) {
      heard.state = state
    },
  }
  return heard
}

const openUrls = () => Stream.opened.filter(each => each.readyState !== Stream.CLOSED).map(({ url }) => url)
const everything = 'http://retoma/api/v1/events'
const batch = (id: number) => `http://retoma/api/v1/batches/${id}/events`

test('many followed batches have two streams: the stream of everything and that of the batch followed last', () => {
  const pool = new StreamPool(url => url === everything)
  const leaves = [1, 2, 3].map(id => pool.follow(batch(id), listening()))
  pool.follow(everything, listening())
  expect(openUrls().sort()).toEqual([batch(3), everything].sort())
  Stream.opened.find(({ url }) => url === batch(3))!.says('progress', '7')
  leaves[2]!()
  expect(openUrls().sort()).toEqual([batch(2), everything].sort())
})

test('a batch without a stream is live while the stream of everything is live, and continues its own stream without a gap', () => {
  const pool = new StreamPool(url => url === everything)
  const first = listening()
  pool.follow(everything, listening())
  pool.follow(batch(1), first)
  Stream.opened.at(-1)!.says('progress', '41')
  const leave = pool.follow(batch(2), listening())
  Stream.opened[0]!.says('heartbeat')
  expect(first).toMatchObject({ state: 'live', events: 1 })
  vi.advanceTimersByTime(70_000)
  expect(first.state).toBe('lost')
  leave()
  expect(openUrls()).toContain(`${batch(1)}?after=41`)
})

/** A port to the worker; messages arrive at once, unless `isCut`. */
function portTo(hub: TabHub, isCut: () => boolean): Port<ToWorker, FromWorker> {
  const near: Port<ToWorker, FromWorker> = {
    onmessage: null,
    postMessage: data => !isCut() && far.onmessage?.({ data }),
  }
  const far: Port<FromWorker, ToWorker> = {
    onmessage: null,
    postMessage: data => !isCut() && near.onmessage?.({ data }),
  }
  hub.connect(far)
  return near
}

/** The server sends a heartbeat on each open stream. */
function beats(times: number): void {
  for (let n = 0; n < times; n++) {
    for (const stream of Stream.opened) if (stream.readyState !== Stream.CLOSED) stream.says('heartbeat')
    vi.advanceTimersByTime(20_000)
  }
}

test('a tab that the worker closed while the tab slept follows again after waking, with events', () => {
  const hub = new TabHub()
  const tab = listening()
  let isAsleep = false
  new SharedStreams(() => portTo(hub, () => isAsleep)).follow(everything, tab)
  beats(2)
  expect(tab.state).toBe('live')
  isAsleep = true
  beats(12)
  expect(openUrls()).toEqual([])
  expect(tab.state).toBe('lost')
  isAsleep = false
  beats(2)
  expect(openUrls()).toHaveLength(1)
  Stream.opened.at(-1)!.says('failure')
  expect(tab).toMatchObject({ state: 'live', events: 1 })
})

test('a tab whose worker has ended is marked as lost after 60 s and connects to a new worker', () => {
  const tab = listening()
  const ended = new TabHub()
  let running = ended
  const streams = new SharedStreams(() => {
    const hub = running
    return portTo(hub, () => hub !== running)
  })
  streams.follow(everything, tab)
  beats(1)
  expect(tab.state).toBe('live')
  running = new TabHub()
  vi.advanceTimersByTime(65_000)
  expect(tab.state).not.toBe('live')
  beats(2)
  expect(tab.state).toBe('live')
})
