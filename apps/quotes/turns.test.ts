/** Turns at providers and hosts: never more than the limit, over all workers, and none is lost with its process. */
import { minutes, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { sqlOn } from '../../test/support/application.ts'
import { until } from '../../test/support/engine.ts'
import { simulatedAnalysis } from './providers/simulated/analysis.ts'
import { readQuotesSettings } from './settings.ts'
import { quotesDoor } from './test/door.ts'
import { enterTurn, hostTurns, withTurn } from './turns.ts'

const never = new AbortController().signal

test('at most the limit at once, whoever asks, and each gets a turn', async () => {
  const { engine, clock } = await quotesDoor()
  let [inside, most, ended] = [0, 0, 0]
  const work = async () => {
    most = Math.max(most, ++inside)
    await clock.sleep(100)
    inside--
    ended++
  }
  const all = Array.from({ length: 12 }, () =>
    withTurn(engine, 'provider:x', { limit: 3, longest: seconds(60), signal: never }, work),
  )
  while (ended < 12) await clock.advance(seconds(0.1))
  await Promise.all(all)
  expect(most).toBe(3)
})

test('the turn of a process that died ends by itself; a turn that is given back is free at once', async () => {
  const door = await quotesDoor()
  const { engine, clock } = door
  const turns = hostTurns(() => engine, seconds(30))
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
  const sql = await sqlOn(door)
  expect(await sql(`select count(*)::int as n from quotes.turn where name = 'host:loja.example'`)).toEqual([{ n: 2 }])
})

test('a quote that waits too long for a turn is deferred before it counts as stuck, and no attempt is charged', async () => {
  const door = await quotesDoor({
    settings: readQuotesSettings({ ANTHROPIC_API_KEY: 'k', ANTHROPIC_CONCURRENCY: '1' }),
    providers: { analysis: { ...simulatedAnalysis(async () => {}), simulated: false } },
  })
  const { engine, clock, quote, read, run } = door
  const leave = await enterTurn(engine, 'provider:anthropic', { limit: 1, longest: minutes(20), signal: never })
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

test('an aborted signal ends the wait', async () => {
  const { engine, clock } = await quotesDoor()
  const abort = new AbortController()
  const options = { limit: 1, longest: seconds(30), signal: never }
  await enterTurn(engine, 'provider:y', options)
  const waiting = enterTurn(engine, 'provider:y', { ...options, signal: abort.signal })
  abort.abort(new Error('over'))
  const refused = expect(waiting).rejects.toThrow('over')
  await clock.advance(seconds(1))
  await refused
})
