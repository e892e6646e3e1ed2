/** Streams of events over real sockets: servers that close or are killed, clients that do not read, many clients. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { EventSource } from 'eventsource'
import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../../src/http/index.ts'
import { listen } from '../../src/http/server.ts'
import { defineBatch, defineJob, doNotRetry, type Engine, seconds } from '../../src/index.ts'
import { cleanerName, engineOf, liveEngine, shareDatabase, until } from '../support/engine.ts'
import { sqlOf } from '../support/events.ts'
import { briefly, type Heard, listenTo } from './sse-client.ts'

const check = defineJob<string>({
  kind: 'check',
  run: (_, code) => {
    if (code.startsWith('bad')) throw doNotRetry(new Error(`${code} is no good`))
  },
})
const checks = defineBatch({ name: 'checks', job: check })
const ref = (code: string) => code

async function serve(engine: Engine, port = 0) {
  const server = await listen(createApp(engine), '127.0.0.1', port)
  onTestFinished(() => server.close())
  return { ...server, url: `http://127.0.0.1:${server.port}/api/v1` }
}

/** A server process; killed at the end of the test, if not before. */
async function hire(url: string, port: number) {
  const script = fileURLToPath(new URL('./sse-guest.mjs', import.meta.url))
  const args = [script, url, String(port)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  onTestFinished(kill)
  const died = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server ended with ${code}`)))
  died.catch(() => {})
  const [line] = await Promise.race([once(child.stdout, 'data'), died])
  return { port: Number(String(line)), kill }
}

/** Heard by somebody else's EventSource, which comes back by itself. */
function outsideClient(url: string) {
  const heard: Heard[] = []
  const errors: (string | undefined)[] = []
  const source = new EventSource(url)
  onTestFinished(() => source.close())
  for (const event of ['heartbeat', 'progress', 'state', 'item', 'action', 'warning', 'reset'])
    source.addEventListener(event, ({ data, lastEventId }) =>
      heard.push({ event, lastEventId, hasId: event !== 'heartbeat', data: JSON.parse(data) }),
    )
  source.addEventListener('error', ({ message }) => errors.push(message))
  const brief = () => briefly(heard)
  /** Until it has heard so much. One event too many, or one that is refused and stays away, is not waited for. */
  const hears = (count: number) =>
    until(() => {
      if (brief().length === count) return true
      if (brief().length < count && source.readyState !== source.CLOSED) return false
      throw new Error(`heard ${JSON.stringify(brief())}, not ${count}; errors ${JSON.stringify(errors)}`)
    })
  return { source, brief, hears, errors }
}

test('a server is killed in mid-batch: an EventSource goes on where it was and is shown everything once', async () => {
  const url = await shareDatabase()
  const { engine } = await liveEngine([], { batches: [checks] }, url)
  const { id } = await engine.submit(checks, ['bad1', 'a'], { ref })
  const server = await hire(url, 0)
  const client = outsideClient(`http://127.0.0.1:${server.port}/api/v1/batches/${id}/events`)
  await client.hears(1)
  await engine.batches.pause(id)
  await client.hears(3)
  await server.kill()
  await until(() => client.errors.length > 0)
  // Nobody is there to tell it.
  await engine.batches.resume(id)
  await engine.batches.pause(id)
  await hire(url, server.port)
  await client.hears(7)
  await engine.batches.resume(id)
  await engine.work()
  await client.hears(11)
  const actionEvents = (actionName: string, from: string, to: string) => [`action ${actionName}`, `${from} -> ${to}`]
  expect(client.brief()).toEqual([
    'null -> running',
    ...actionEvents('pause', 'running', 'paused'),
    ...actionEvents('resume', 'paused', 'running'),
    ...actionEvents('pause', 'running', 'paused'),
    ...actionEvents('resume', 'paused', 'running'),
    'item bad1 failed',
    'running -> completed_with_failures',
  ])
  // It comes once more, learns that there is nothing, and stays away.
  await until(() => client.source.readyState === client.source.CLOSED)
})

test('a client that loses its connection ten times during a batch is shown every state once and in order', async () => {
  const { engine } = await liveEngine([], { batches: [checks] })
  const server = await serve(engine)
  const { id } = await engine.submit(checks, ['bad1', 'a'], { ref })
  const heard: Heard[] = []
  let lastEventId = ''
  const expected = ['null -> running']
  for (let time = 0; time < 10; time++) {
    const stream = await listenTo(`${server.url}/batches/${id}/events`, { lastEventId })
    await until(() => briefly([...heard, ...stream.heard]).length >= expected.length)
    // Some of the actions are seen, some is on its way when the connection goes, some comes after that.
    await engine.batches.pause(id)
    if (time % 3 === 0) await until(() => stream.brief().includes('action pause'))
    stream.close()
    heard.push(...stream.heard)
    lastEventId = stream.parser.lastEventId
    await engine.batches.resume(id)
    expected.push('action pause', 'running -> paused', 'action resume', 'paused -> running')
  }
  await engine.work()
  const last = await listenTo(`${server.url}/batches/${id}/events`, { lastEventId })
  await last.ended
  heard.push(...last.heard)
  expect(briefly(heard)).toEqual([...expected, 'item bad1 failed', 'running -> completed_with_failures'])
  const counts = heard.filter(({ event }) => event === 'progress').map(({ lastEventId }) => lastEventId)
  expect(new Set(counts).size).toBe(counts.length)
})

test('a server that closes ends its streams cleanly, and they go on at the next', async () => {
  const { engine } = await liveEngine([check])
  const first = await serve(engine)
  const stream = await listenTo(`${first.url}/events`)
  await engine.queues.pause('default')
  await until(() => stream.brief().length === 1)
  // Kept for another request, it would be waited for until the server has no more patience.
  expect(stream.response.headers.get('connection')).toBe('close')
  await first.close()
  await stream.ended
  await engine.queues.resume('default')
  const second = await serve(engine, first.port)
  const { lastEventId } = stream.parser
  const again = await listenTo(`${second.url}/events`, { lastEventId })
  await until(() => again.brief().length === 1)
  expect(again.brief()).toEqual(['action resume queue'])
})

test('a client that reads nothing is cut off while others go on; a megabyte waits nowhere for it', async () => {
  const t = await engineOf({ jobs: [check] })
  const server = await serve(t.engine)
  const sql = await sqlOf(t)
  const quick = await listenTo(`${server.url}/events`)
  const slow = connect(server.port, '127.0.0.1')
  slow.on('error', () => {})
  slow.pause()
  slow.write('GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(slow, 'readable')
  const big = 400
  // Twenty megabytes: more than the kernel keeps for anybody.
  await sql(
    `insert into retoma.event (at, type, data)
     select now(), 'warning', jsonb_build_object('what', 'test', 'n', n, 'text', repeat('x', 50000)) from generate_series(1, ${big}) n`,
  )
  await t.clock.advance(seconds(1))
  const warnings = () => quick.heard.filter(({ event }) => event === 'warning')
  await until(() => warnings().length === big)
  await t.clock.advance(seconds(20))
  // The client notices the end when the client reads the bytes in the buffer of the kernel.
  let bytes = 0
  slow.on('data', chunk => (bytes += chunk.length))
  slow.resume()
  await once(slow, 'close')
  expect(bytes).toBeLessThan(big * 50_000)
  expect(warnings().map(({ data }) => data.n)).toEqual(Array.from({ length: big }, (_, n) => n + 1))
  await sql(`insert into retoma.event (at, type, data) values (now(), 'warning', '{"what": "last", "n": 0}')`)
  await t.clock.advance(seconds(1))
  await until(() => warnings().length === big + 1)
})

test('two hundred clients of one batch are all told its end, by one connection between them', async () => {
  const { engine, url } = await liveEngine([], { batches: [checks], connections: 3 })
  const server = await serve(engine)
  const { id } = await engine.submit(checks, ['bad1', 'a', 'b'], { ref })
  const streams = await Promise.all(Array.from({ length: 200 }, () => listenTo(`${server.url}/batches/${id}/events`)))
  await until(() => streams.every(stream => stream.brief().length === 1))
  const sql = await sqlOf({ databaseUrl: url })
  const [{ n } = { n: 0 }] = await sql<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name <> '${cleanerName}'`,
  )
  expect(n).toBeLessThanOrEqual(5)
  await engine.work()
  await Promise.all(streams.map(({ ended }) => ended))
  for (const stream of streams)
    expect(stream.brief()).toEqual(['null -> running', 'item bad1 failed', 'running -> completed_with_failures'])
})
