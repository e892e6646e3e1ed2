/** Turns at providers and hosts: never more than the limit, over all workers, and none is lost with its process. */
import { minutes, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { until } from '../../test/support/engine.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { simulatedPages } from './providers/simulated/shopping.ts'
import { readQuotesSettings } from './settings.ts'
import { takeTurn } from './store/turns.ts'
import { quotesDoor } from './test/door.ts'
import { enterTurn, hostTurns, withTurn } from './turns.ts'

const never = new AbortController().signal

type Door = Awaited<ReturnType<typeof quotesDoor>>

/** An attempt of a quote, which runs in another process. */
async function attemptOn(door: Door) {
  const quote = await door.quote('mesa')
  const sql = await sqlOn(door)
  const become = (state: string, attempt: number) =>
    sql(`update retoma.job set state = $2, attempt = $3, worker_id = $4 where ref = $1`, [
      quote,
      state,
      attempt,
      state === 'running' ? 'w' : null,
    ])
  await become('running', 1)
  const [job] = await sql<{ id: string }>(`select id::text as id from retoma.job where ref = $1`, [quote])
  return { owner: { id: job!.id, attempt: 1 }, become, sql }
}

test('at most the limit at once, whoever asks, and each gets a turn', async () => {
  const door = await quotesDoor()
  const { engine, clock } = door
  const { owner } = await attemptOn(door)
  let [inside, most, ended] = [0, 0, 0]
  const work = async () => {
    most = Math.max(most, ++inside)
    await clock.sleep(100)
    inside--
    ended++
  }
  const all = Array.from({ length: 12 }, () =>
    withTurn(engine, 'provider:x', { limit: 3, owner, longest: seconds(60), signal: never }, work),
  )
  while (ended < 12) await clock.advance(seconds(0.1))
  await Promise.all(all)
  expect(most).toBe(3)
})

test('the turn of a process that died ends by itself; a turn that is given back is free at once', async () => {
  const door = await quotesDoor()
  const { engine, clock } = door
  const { owner, sql } = await attemptOn(door)
  const turns = hostTurns(engine, owner, seconds(30))
  const first = await turns.enter('loja.example', never)
  await turns.enter('loja.example', never)
  let third = false
  void turns.enter('loja.example', never).then(() => {
    third = true
  })
  await turns.enter('outra.example', never)
  await clock.advance(seconds(5))
  expect(third).toBe(false)
  await first()
  await clock.advance(seconds(1))
  await until(() => third)
  // Nobody gives the other two back.
  let fourth = false
  void turns.enter('loja.example', never).then(() => {
    fourth = true
  })
  while (!fourth) await clock.advance(seconds(1))
  expect(await sql(`select count(*)::int as n from quotes.turn where name = 'host:loja.example'`)).toEqual([{ n: 2 }])
})

test('a process that died keeps no turn once its quote is put back or runs again, and one of many requests gets the turn', async () => {
  const door = await quotesDoor()
  const { engine } = door
  const dead = await attemptOn(door)
  const { owner } = await attemptOn(door)
  const options = { limit: 1, longest: minutes(2), signal: never }
  const taken = async () => {
    const holders = Array.from({ length: 5 }, (_, n) => `${crypto.randomUUID()} ${n}`)
    const take = (holder: string) => takeTurn(engine, 'x', { limit: 1, holder, longestMs: minutes(2), owner })
    return (await Promise.all(holders.map(take))).filter(slot => slot !== undefined)
  }
  await enterTurn(engine, 'x', { ...options, owner: dead.owner })
  expect(await taken()).toEqual([])
  await dead.become('waiting', 1)
  expect(await taken()).toEqual([1])
  expect(await taken()).toEqual([])
  await dead.become('running', 2)
  const leave = await enterTurn(engine, 'z', { ...options, owner: dead.owner })
  await enterTurn(engine, 'z', { ...options, owner })
  // Whoever has lost the turn takes nothing away from the next holder.
  await leave()
  expect(await dead.sql(`select job_id::text as id from quotes.turn where name = 'z'`)).toEqual([{ id: owner.id }])
})

test('a quote that waits too long for a turn is deferred before it counts as stuck, and no attempt is charged', async () => {
  const door = await quotesDoor({
    settings: readQuotesSettings({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_CONCURRENCY: '1' }),
    providers: { analysis: { ...simulatedAnalysis(async () => {}), simulated: false } },
  })
  const { engine, clock, quote, read, run } = door
  const { owner } = await attemptOn(door)
  const leave = await enterTurn(engine, 'provider:anthropic', { limit: 1, owner, longest: minutes(20), signal: never })
  const id = await quote('mesa')
  let over = false
  const running = run().finally(() => {
    over = true
  })
  for (let passed = 0; passed < 320 && !over; passed += 20) await clock.advance(seconds(20))
  await running
  expect(await read(id)).toMatchObject({ status: 'PENDING', attempt_number: 1 })
  await leave()
  await clock.advance(seconds(12))
  await run()
  expect(await read(id)).toMatchObject({ status: 'DONE', attempt_number: 1 })
})

test('a provider gets no more requests in any minute than its limit; the quotes wait without a cost, and all end', async () => {
  const asked: number[] = []
  const t = await quotesDoor({
    settings: readQuotesSettings({ SERPAPI_API_KEY: 'k', SERPAPI_REQUESTS_PER_MINUTE: '3' }),
    providers: {
      analysis: simulatedAnalysis(async () => {}),
      shopping: {
        simulated: false,
        search: async () => {
          asked.push(t.clock.now().getTime())
          return { products: [], response: {} }
        },
        shops: async () => ({ shops: [], response: {} }),
      },
    },
  })
  const ids: string[] = []
  for (let n = 0; n < 7; n++) ids.push(await t.quote(`mesa ${n}`))
  for (let passed = 0; passed < 300 && asked.length < 7; passed += 15) {
    await t.work()
    await t.clock.advance(seconds(15))
  }
  for (const id of ids) expect(await t.read(id)).toMatchObject({ status: 'DONE', attempt_number: 1 })
  expect(asked).toHaveLength(7)
  for (const [index, at] of asked.slice(3).entries()) expect(at - asked[index]!).toBeGreaterThanOrEqual(60_000)
})

test('a product whose shop the search names costs no turn and no request of the limit', async () => {
  const t = await quotesDoor({
    settings: readQuotesSettings({ SERPAPI_API_KEY: 'k', SERPAPI_REQUESTS_PER_MINUTE: '1' }),
    providers: {
      analysis: simulatedAnalysis(async () => {}),
      pages: { readLink: (_job, link, signal) => simulatedPages(async () => {}, () => t.clock.now())(link, signal) }, // biome-ignore format: in one line
      shopping: {
        simulated: false,
        search: async () => ({
          products: [{ position: 1, title: 'mesa', productId: null, source: null, price: null, currency: 'BRL', pageToken: null, link: 'https://loja.example/1' }], // biome-ignore format: in one line
          response: {},
        }),
        shops: async ({ link }) => ({
          shops: [{ name: 'Loja', link: link!, price: null, currency: 'BRL' }],
          response: {},
        }),
      },
    },
  })
  const id = await t.quote('mesa')
  await t.work()
  expect(await t.read(id)).toMatchObject({ status: 'DONE', resume_data: { tested_products: [{ pages: 1 }] } })
})

test('an aborted signal ends the wait', async () => {
  const door = await quotesDoor()
  const { engine, clock } = door
  const abort = new AbortController()
  const { owner } = await attemptOn(door)
  const options = { limit: 1, owner, longest: seconds(30), signal: never }
  await enterTurn(engine, 'provider:y', options)
  const waiting = enterTurn(engine, 'provider:y', { ...options, signal: abort.signal })
  abort.abort(new Error('over'))
  const refused = expect(waiting).rejects.toThrow('over')
  await clock.advance(seconds(1))
  await refused
})
