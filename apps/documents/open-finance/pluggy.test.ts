/** The client of Pluggy over real sockets: one key for all workers, and every way in which the service misbehaves. */
import { inspect } from 'node:util'
import { milliseconds, minutes, seconds } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { deferralOf } from '../../../src/jobs/model/deferral.ts'
import type { VirtualClock } from '../../../src/testing/index.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { gate, until } from '../../../test/support/engine.ts'
import {
  type Behaviour,
  drips,
  errorBody,
  garbage,
  gzipBomb,
  half,
  huge,
  never,
  raw,
  redirects,
  refuses,
} from '../../quotes/test/servers/behaviours.ts'
import { openFinanceDoor } from '../test/open-finance/door.ts'
import { entriesFor, pluggyServer } from '../test/open-finance/pluggy-server.ts'
import { pluggyProvider } from './pluggy.ts'

const signal = () => new AbortController().signal
const request = { item: 'item-1', account: 'acc-1', currency: 'BRL', from: '2025-11-16', place: null }

/** Lets virtual time pass until the promise is settled: a client sleeps while another one logs in, and the clock wakes the client. */
async function settled<T>({ clock }: { clock: VirtualClock }, promise: Promise<T>): Promise<T> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  const end = promise.then(over, over)
  let asleep = gate()
  const sleep = clock.sleep.bind(clock)
  const spy = vi.spyOn(clock, 'sleep').mockImplementation((ms, signal) => {
    const slept = sleep(ms, signal)
    asleep.open()
    return slept
  })
  while (!isOver) {
    await Promise.race([end, asleep.passed])
    asleep = gate()
    await clock.advance(milliseconds(200))
  }
  spy.mockRestore()
  return promise
}

async function stage(hasCursors = true) {
  const server = await pluggyServer({ hasCursors })
  onTestFinished(() => server.close())
  server.addAccount('item-1', 'acc-1', entriesFor('a', 3, new Date('2026-11-16T15:00:00Z')))
  const door = await openFinanceDoor()
  const provider = () => pluggyProvider({ ...server, engine: () => door.engine })
  return { server, provider, ...door }
}

test('all workers share one key: a hundred concurrent requests of two processes cost one login', async () => {
  const door = await stage()
  const { server, provider } = door
  const workers = [provider(), provider()]
  await settled(
    door,
    Promise.all(Array.from({ length: 50 }, () => workers.map(each => each.item('item-1', 'ana', signal()))).flat()),
  )
  expect(server.of('/auth')).toHaveLength(1)
  await provider().accounts('item-1', signal())
  expect(server.keys).toHaveLength(1)
})

test('a key is renewed before it expires, and once if Pluggy refuses the key earlier', async () => {
  const door = await stage()
  const { server, provider, clock } = door
  const workers = [provider(), provider()]
  const ask = () =>
    settled(door, Promise.all([...workers, ...workers].map(each => each.item('item-1', 'ana', signal()))))
  await ask()
  await clock.advance(minutes(100))
  await ask()
  expect(server.keys).toHaveLength(1)
  await clock.advance(minutes(11))
  await ask()
  expect(server.keys).toHaveLength(2)
  server.expireKeys()
  await ask()
  expect(server.keys).toHaveLength(3)
})

test('a process that dies while it asks for a key loses its turn; a login that fails gives the turn back', async () => {
  const door = await stage()
  const { server, provider, clock } = door
  server.refuseLogins(true)
  const refused = await provider()
    .item('item-1', 'ana', signal())
    .catch(error => error)
  expect(deferralOf(refused)).toMatchObject({ why: 'stop' })
  server.refuseLogins(false)
  const sql = await sqlOn(door)
  // As a dead process leaves the row behind.
  await sql(`update documents.pluggy_key set renewing_until = $1`, [new Date(clock.now().getTime() + 1000)])
  const asked = provider().item('item-1', 'ana', signal())
  expect(await settled(door, asked)).toMatchObject({ status: 'UPDATED' })
})

const tooMany: Behaviour = {
  name: '429',
  answer: ({ response }) => {
    response.writeHead(429, { 'ratelimit-reset': '17' }).end('{"code":429,"message":"Too many"}')
    return { isSold: false }
  },
}

test('a login that Pluggy answers with 429 or refuses is not repeated by the syncs that wait for the key', async () => {
  for (const [behaviour, deferral] of [
    [tooMany, { why: 'wait', retryAfterMs: 17_000 }],
    [refuses(401), { why: 'stop' }],
  ] as const) {
    const door = await stage()
    const { server, provider } = door
    server.behave(({ about }) => (about === '/auth' ? behaviour : null))
    const worker = provider()
    const asked = Array.from({ length: 10 }, () => worker.item('item-1', 'ana', signal()).catch(error => error))
    const errors = await settled(door, Promise.all(asked))
    expect(errors.map(deferralOf)).toEqual(Array.from({ length: 10 }, () => expect.objectContaining(deferral)))
    expect(server.of('/auth')).toHaveLength(1)
  }
})

test('processes that wait for the login of another process do not repeat the login that failed: they ask Pluggy again after a wait', async () => {
  const door = await stage()
  const { server, provider, clock } = door
  const [arrived, answered] = [gate(), gate()]
  server.behave(({ about, nth }) => {
    if (about !== '/auth' || nth !== 1) return null
    return {
      name: 'a late 429',
      answer: async how => {
        arrived.open()
        await answered.passed
        return tooMany.answer(how)
      },
    }
  })
  const workers = [provider(), provider(), provider()]
  const ask = (worker: (typeof workers)[number]) => worker.item('item-1', 'ana', signal()).catch(error => error)
  const first = ask(workers[0]!)
  await arrived.passed
  const waiting = vi.spyOn(clock, 'sleep')
  const others = workers.slice(1).map(ask)
  await until(async () => waiting.mock.calls.length === 2)
  waiting.mockRestore()
  answered.open()
  const refused = await first
  await clock.advance(milliseconds(200))
  const errors = [refused, ...(await settled(door, Promise.all(others)))]
  expect(errors.map(error => deferralOf(error)?.why)).toEqual(['wait', 'wait', 'wait'])
  expect(server.of('/auth')).toHaveLength(1)
  await clock.advance(seconds(17))
  expect(await workers[1]!.item('item-1', 'ana', signal())).toMatchObject({ status: 'UPDATED' })
})

test('a login that ended with the signal of its sync is begun anew by the sync that waits for the key', async () => {
  const door = await stage()
  const { server, provider } = door
  const arrived = gate()
  server.behave(({ about, nth }) => {
    if (about !== '/auth' || nth !== 1) return null
    arrived.open()
    return never()
  })
  const workers = [provider(), provider()]
  const cancelled = new AbortController()
  const first = workers[0]!.item('item-1', 'ana', cancelled.signal).catch(error => error)
  await arrived.passed
  const others = workers.map(each => each.item('item-1', 'ana', signal()))
  cancelled.abort(new Error('the sync was cancelled'))
  for (const found of await settled(door, Promise.all(others))) expect(found).toMatchObject({ status: 'UPDATED' })
  expect(await first).toBeInstanceOf(Error)
  expect(server.of('/auth')).toHaveLength(2)
})

test('neither the key nor the secret is in the database or in an error', async () => {
  const door = await stage()
  const { server, provider } = door
  await provider().item('item-1', 'ana', signal())
  const sql = await sqlOn(door)
  const rows = await sql<{ sealed: Buffer; row: string }>(`select sealed, k::text as row from documents.pluggy_key k`)
  expect(rows).toHaveLength(1)
  const secrets = [server.clientSecret, server.clientId, ...server.keys]
  for (const secret of secrets) {
    expect(rows[0]!.row).not.toContain(secret)
    expect(rows[0]!.row).not.toContain(Buffer.from(secret).toString('hex'))
    expect(rows[0]!.sealed.includes(secret)).toBe(false)
  }
  // Another secret for the same client does not decrypt the key.
  const changed = pluggyProvider({ ...server, clientSecret: 'other-secret', engine: () => door.engine })
  const error = await changed.item('item-1', 'ana', signal()).catch(each => each)
  expect(deferralOf(error)).toMatchObject({ why: 'stop' })
  expect(inspect(error, { depth: 9 })).not.toMatch(/other-secret/)
})

test('without a list by cursor the list by page number is asked, and asked first for an hour', async () => {
  const { server, provider, clock } = await stage(false)
  const pluggy = provider()
  expect(await pluggy.transactions(request, signal())).toMatchObject({ next: null, total: 3 })
  await pluggy.transactions(request, signal())
  expect(server.of('/v2/transactions')).toHaveLength(1)
  expect(server.of('/transactions')).toHaveLength(2)
  const error = await pluggy.transactions({ ...request, account: 'none' }, signal()).catch(each => each)
  expect(error).toMatchObject({ code: 'provider_rejected' })
  await clock.advance(minutes(61))
  await pluggy.transactions(request, signal())
  expect(server.of('/v2/transactions')).toHaveLength(2)
})

const json = { 'content-type': 'application/json' }
const rows = (...results: object[]) => raw('rows', 200, json, JSON.stringify({ results, next: null }))
const good = { id: 't', date: '2026-11-01T10:00:00Z', amount: 1 }

const failures: [string, Behaviour, string][] = [
  ['half an answer', half(), 'provider_unreachable'],
  ['no answer', never(), 'provider_timeout'],
  ['a byte now and then', drips(10), 'provider_timeout'],
  ['HTML', garbage(), 'provider_useless'],
  ['12 MB', huge(12 * 1024 * 1024), 'provider_useless'],
  ['a gzip bomb', gzipBomb(64 * 1024 * 1024), 'provider_useless'],
  ['status 500', refuses(500), 'provider_error'],
  ['status 500 with the account', refuses(500, { message: 'no acc-1 in item-1' }), 'provider_error'],
  ['status 200 with an error', errorBody(500), 'provider_error'],
  ['status 400', refuses(400), 'provider_rejected'],
  ['a list of nothing', raw('list', 200, json, '[]'), 'provider_useless'],
  ['JSON without results', raw('empty', 200, json, '{}'), 'provider_useless'],
  ['a transaction without an amount', rows(good, { ...good, amount: null }), 'provider_useless'],
  ['a transaction with an amount of words', rows({ ...good, amount: 'ten' }), 'provider_useless'],
  ['a transaction of another account', rows({ ...good, accountId: 'acc-2' }), 'provider_useless'],
  ['a transaction on February 30', rows({ ...good, date: '2026-02-30' }), 'provider_useless'],
]

test('each misbehaviour of the service is an error that names neither a key nor an account', async () => {
  const { server, engine } = await stage()
  for (const [name, behaviour, code] of failures) {
    const isSlow = code === 'provider_timeout'
    const pluggy = pluggyProvider({ ...server, engine: () => engine, ...(isSlow && { timeout: milliseconds(150) }) })
    server.behave(({ about }) => (about === '/v2/transactions' ? behaviour : null))
    const error = await pluggy.transactions(request, signal()).catch(each => each)
    expect(error, name).toMatchObject({ code })
    for (const secret of [server.clientSecret, server.clientId, 'acc-1', 'item-1', ...server.keys])
      expect(inspect(error, { depth: 9 }), name).not.toContain(secret)
  }
})

const concernsAll: [string, Behaviour, object][] = [
  ['status 429', refuses(429, { retryAfter: '60' }), { why: 'wait', retryAfterMs: 60_000 }],
  ['status 503', refuses(503), { why: 'wait', retryAfterMs: null }],
  ['a redirect', redirects('http://127.0.0.1:1/'), { why: 'stop' }],
  ['a refused key, again and again', refuses(401), { why: 'stop' }],
  ['status 402', refuses(402), { why: 'stop' }],
]

test('waits and stops of the service concern all workers', async () => {
  const { server, provider } = await stage()
  for (const [name, behaviour, deferral] of concernsAll) {
    server.behave(({ about }) => (about === '/v2/transactions' ? behaviour : null))
    const error = await provider()
      .transactions(request, signal())
      .catch(each => each)
    expect(deferralOf(error), name).toMatchObject(deferral)
  }
})
