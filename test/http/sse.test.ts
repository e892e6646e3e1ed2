/** Event streams without a socket, on the virtual clock: messages, keep-alive lines, and the end. */
import { describe, expect, test } from 'vitest'
import { RetomaError } from '../../src/errors/errors.ts'
import { sse } from '../../src/http/index.ts'
import { Streams } from '../../src/http/streaming/open-streams.ts'
import { days, defineBatch, defineJob, doNotRetry, seconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { gate, until } from '../support/engine.ts'
import { tick } from '../support/events.ts'
import { listenTo } from './sse-client.ts'
import { type Door, doorWith, thisMachine } from './support.ts'

const good = defineJob({ kind: 'good', run: () => 'done' })
const check = defineJob<string>({
  kind: 'check',
  run: (_, code) => {
    if (code.startsWith('bad')) throw doNotRetry(new Error(`${code} is no good`))
  },
})
const checks = defineBatch({ name: 'checks', job: check })

const at = (path: string) => `http://127.0.0.1:3000/api/v1${path}`
const follow = (door: Door, path: string, lastEventId?: string) =>
  listenTo(at(path), { fetch: door.fetch, ...(lastEventId === undefined ? {} : { lastEventId }) })

async function batchOf(...codes: string[]) {
  const door = await doorWith([], { batches: [checks] })
  const { id } = await door.engine.submit(checks, codes, { ref: code => code })
  return { ...door, id, path: `/batches/${id}/events` }
}

describe('a stream', () => {
  test('begins at once, for proxies too: its headers, when to come back, a heartbeat', async () => {
    const door = await doorWith([good])
    const { response, heard, parser } = await follow(door, '/events')
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    await until(() => heard.length === 1)
    expect(heard[0]).toMatchObject({ event: 'heartbeat', hasId: false, data: { idle_seconds: 0 } })
    expect(parser.retry).toBeGreaterThanOrEqual(1000)
    expect(parser.retry).toBeLessThan(2000)
  })

  test('sends a heartbeat at least every 20 s, without an id, and says how long there was no progress', async () => {
    const door = await batchOf('a', 'b')
    const { heard } = await follow(door, door.path)
    await door.clock.advance(seconds(100))
    const beats = () => heard.filter(({ event }) => event === 'heartbeat')
    await until(() => beats().length >= 6)
    const times = beats().map(({ data }) => Date.parse(data.at))
    for (const [place, time] of times.slice(1).entries()) expect(time - times[place]!).toBeLessThanOrEqual(20_000)
    expect(door.clock.now().getTime() - times.at(-1)!).toBeLessThanOrEqual(20_000)
    expect(beats().every(({ hasId }) => !hasId)).toBe(true)
    const idle = beats().map(({ data }) => data.idle_seconds)
    expect(idle.at(-1)).toBeGreaterThan(80)
    await door.engine.batches.pause(door.id)
    await door.clock.advance(seconds(20))
    // An action is no progress.
    await until(() => beats().at(-1)!.data.idle_seconds > 95)
  })

  test('of everything counts from the last event it sent', async () => {
    const door = await doorWith([good])
    const { heard } = await follow(door, '/events')
    await door.clock.advance(seconds(30))
    await door.engine.queues.pause('default')
    await door.clock.advance(seconds(16))
    await until(() => heard.some(({ event }) => event === 'action'))
    const beat = heard.findLast(({ event }) => event === 'heartbeat')!
    expect(beat.data.idle_seconds).toBeLessThan(20)
  })

  test('of a batch tells its states, its counts and what failed in it, in the words of the API', async () => {
    const door = await batchOf('a', 'bad1')
    const stream = await follow(door, door.path)
    await until(() => stream.heard.length === 3)
    await door.run()
    await door.clock.advance(seconds(1))
    await stream.ended
    expect(stream.brief()).toEqual(['null -> running', 'item bad1 failed', 'running -> completed_with_failures'])
    const reported = (event: string) => stream.heard.findLast(each => each.event === event)!
    expect(reported('progress').data).toMatchObject({
      batch_id: door.id,
      job_id: null,
      total: 2,
      succeeded: 1,
      failed: 1,
      counts: { total: 2, waiting: 0, running: 0, succeeded: 1, failed: 1, skipped: 0, cancelled: 0, stalled: 0 },
      rate: null,
      eta_seconds: null,
    })
    expect(reported('item').data).toMatchObject({
      ref: 'bad1',
      state: 'failed',
      failures: 1,
      reason: 'bad1 is no good',
    })
    expect(reported('state').data).toMatchObject({ from: 'running', to: 'completed_with_failures', reason: null })
    expect(reported('state').data.at).toMatch(/^2030-.*Z$/)
    expect(stream.heard.every(({ event, hasId }) => hasId === (event !== 'heartbeat'))).toBe(true)
  })

  test('that ended is not come back to: 204, until there is something new', async () => {
    const door = await batchOf('bad1')
    await door.run()
    const stream = await follow(door, door.path)
    await stream.ended
    const { lastEventId } = stream.parser
    expect(stream.brief()).toEqual(['null -> completed_with_failures'])
    const again = await follow(door, door.path, lastEventId)
    expect(again.response.status).toBe(204)
    await door.engine.batches.retryFailed(door.id)
    const anew = await follow(door, door.path, lastEventId)
    await until(() => anew.brief().length === 2)
    expect(anew.brief()).toEqual(['action retry failed', 'completed_with_failures -> running'])
  })

  test('of a job goes on from the id it is given, by header or address, the header first', async () => {
    const door = await doorWith([good])
    const { id } = await door.engine.enqueue(good, undefined)
    const stream = await follow(door, `/jobs/${id}/events`)
    await until(() => stream.brief().length === 1)
    const first = stream.parser.lastEventId
    await door.engine.jobs.cancel(id)
    await door.clock.advance(tick)
    await stream.ended
    const rest = ['action cancel', 'waiting -> cancelled']
    expect(stream.brief()).toEqual(['null -> waiting', ...rest])
    const ways: [string, string | undefined][] = [
      ['', first],
      [`?after=${first}`, undefined],
      [`?last_event_id=${first}`, undefined],
    ]
    for (const [query, lastEventId] of ways) {
      const later = await follow(door, `/jobs/${id}/events${query}`, lastEventId)
      await later.ended
      expect(later.brief()).toEqual(rest)
    }
    // As an EventSource that began with an address comes back to it.
    const back = await follow(door, `/jobs/${id}/events?after=${first}`, stream.parser.lastEventId)
    expect(back.response.status).toBe(204)
  })

  test('whose cursor is too old gets a reset, and goes on', async () => {
    const door = await doorWith([good], { retention: days(10) })
    await door.engine.queues.pause('default')
    await door.clock.advance(days(11))
    await door.clean()
    const stream = await follow(door, '/events?after=0')
    await until(() => stream.brief().length === 1)
    await door.engine.queues.resume('default')
    await door.clock.advance(seconds(1))
    await until(() => stream.brief().length === 2)
    expect(stream.brief()).toEqual(['reset', 'action resume queue'])
    expect(stream.heard.find(({ event }) => event === 'reset')!.hasId).toBe(true)
  })

  test('that is only asked for its headers is not opened', async () => {
    const door = await doorWith([good])
    const { status, headers, body } = await door.ask('HEAD', '/api/v1/events')
    expect([status, headers.get('content-type'), body]).toEqual([200, 'text/event-stream', ''])
    await until(() => door.clock.sleepers === 0)
  })
})

describe('is refused:', () => {
  test.each<[string, string, Record<string, string>, string]>([
    ['a cursor of nobody', '?after=x', {}, 'after'],
    ['the same by its other name', '?last_event_id=1~', {}, 'last_event_id'],
    ['the same in the header', '', { 'last-event-id': '-1' }, 'Last-Event-ID'],
    ['a typo', '?afetr=1', {}, 'afetr'],
  ])('%s', async (_, query, headers, field) => {
    const door = await doorWith([good])
    const { status, body } = await door.ask('GET', `/api/v1/events${query}`, { headers })
    expect([status, body.error.code, body.error.field]).toEqual([400, 'bad_request', field])
  })

  test.each(['jobs/123456789', 'jobs/x', 'batches/123456789', 'batches/%20'])('%s, which is not there', async path => {
    const door = await doorWith([good])
    const { status, body } = await door.ask('GET', `/api/v1/${path}/events`)
    expect([status, body.error.code]).toEqual([404, 'not_found'])
  })
})

describe('a client', () => {
  test('that goes away leaves nothing behind', async () => {
    const door = await doorWith([good])
    const { id } = await door.engine.enqueue(good, undefined)
    const streams = [await follow(door, '/events'), await follow(door, `/jobs/${id}/events`)]
    await until(() => streams.every(({ heard }) => heard.length > 0))
    expect(door.clock.sleepers).toBeGreaterThan(0)
    for (const stream of streams) stream.close()
    await until(() => door.clock.sleepers === 0)
  })

  test('that does not read is cut off after ten seconds, and the others go on', async () => {
    const door = await doorWith([good])
    const stream = await follow(door, '/events')
    const slow = await door.fetch(new Request(at('/events')))
    await door.clock.advance(seconds(9))
    expect(slow.body!.locked).toBe(false)
    await door.clock.advance(seconds(11))
    await expect(slow.text()).rejects.toThrow('does not read')
    await door.engine.queues.pause('default')
    await door.clock.advance(seconds(1))
    await until(() => stream.brief().length === 1)
  })

  test('that does not read is cut off at its connection, where the server can', async () => {
    const door = await doorWith([good])
    let cut = 0
    await door.app.fetch(new Request(at('/events')), { ...thisMachine, cut: () => void cut++ })
    await door.clock.advance(seconds(20))
    expect(cut).toBe(1)
  })

  test('of a server that closes is shown the end, and so is one that comes then', async () => {
    const door = await doorWith([good])
    const stream = await follow(door, '/events')
    await until(() => stream.heard.length === 1)
    door.app.endStreams()
    await stream.ended
    await (await follow(door, '/events')).ended
    await until(() => door.clock.sleepers === 0)
  })
})

describe("an app's own stream", () => {
  /** What it is called with, besides events. */
  function callWith(readmit: () => Promise<unknown> = async () => {}) {
    const clock = new VirtualClock()
    return { clock, call: { streams: new Streams(clock), peer: {}, log: silentLog, readmit } }
  }
  const opened = (response: Response) => listenTo('http://app', { fetch: async () => response })

  test('tells what it likes in its own words, and leaves out what it does not', async () => {
    const { call } = callWith()
    async function* events() {
      yield { n: 1 }
      yield { n: 2 }
      yield { n: 3 }
    }
    const toMessage = ({ n }: { n: number }) =>
      n === 2 ? undefined : { event: 'documento', id: `d${n}`, data: { numero: n, texto: 'linha 1\nlinha 2\r' } }
    const stream = await opened(sse(call, events(), { toMessage }))
    await stream.ended
    expect(stream.heard.slice(1).map(({ event, lastEventId, data }) => [event, lastEventId, data.numero])).toEqual([
      ['documento', 'd1', 1],
      ['documento', 'd3', 3],
    ])
    expect(stream.heard[1]!.data.texto).toBe('linha 1\nlinha 2\r')
    expect(call.streams.size).toBe(0)
  })

  test('asks for no more events than its client reads', async () => {
    const { call, clock } = callWith()
    let asked = 0
    let returned = false
    const data = { text: 'x'.repeat(10_000) }
    async function* endless() {
      try {
        for (;;) yield { n: asked++ }
      } finally {
        returned = true
      }
    }
    const response = sse(call, endless(), { toMessage: () => ({ event: 'e', data }) })
    await clock.advance(seconds(1))
    expect(asked).toBe(7)
    const reader = response.body!.getReader()
    await reader.read()
    await until(() => asked > 7)
    await clock.advance(seconds(1))
    expect(asked).toBeLessThanOrEqual(14)
    await reader.cancel()
    await until(() => returned)
    expect(call.streams.size).toBe(0)
  })

  test('ends once its reader is no longer let in, and not while nobody can toMessage', async () => {
    let refusal: Error = new RetomaError('database_unreachable', { address: 'here', problem: 'gone', outcome: '' })
    const { call, clock } = callWith(async () => Promise.reject(refusal))
    const never = gate()
    async function* quiet() {
      await never.passed
      yield {}
    }
    const stream = await opened(sse(call, quiet(), { toMessage: () => undefined }))
    await clock.advance(seconds(130))
    expect(call.streams.size).toBe(1)
    refusal = new RetomaError('unauthorized', {})
    await clock.advance(seconds(65))
    await stream.ended
    expect(call.streams.size).toBe(0)
    never.open()
  })

  test('that breaks ends, so that its reader comes back', async () => {
    const { call } = callWith()
    async function* broken() {
      yield { n: 1 }
      throw new Error('broken')
    }
    const stream = await opened(sse(call, broken(), { toMessage: data => ({ event: 'e', data }) }))
    await stream.ended
    expect(stream.heard.map(({ event }) => event)).toEqual(['heartbeat', 'e'])
  })
})
