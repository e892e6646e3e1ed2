/** Executions under a provider that misbehaves for long, on the virtual clock. */
import { inspect } from 'node:util'
import { minutes, seconds } from 'retoma'
import { expect, test, vi } from 'vitest'
import { createLog } from '../../../src/lib/logging/log.ts'
import { from, garbage, ok, refuses, storm } from './behaviours.ts'
import { classifier } from './executions.ts'

test('402 from the 50th call of 200 on: paused, nobody fails, at most what was in flight is asked, and then all end at their first try', async () => {
  const { server, execute, run, seen, engine, booksAgree } = await classifier()
  server.behave(from(50, refuses(402)))
  const made = await execute({ documents: 200 })
  await run()
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'paused', succeeded: 49, failed: 0 })
  expect(server.calls.length).toBeLessThanOrEqual(50 + 20)
  server.behave(ok())
  await engine.batches.resume(made.batch)
  await run()
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', succeeded: 200, failed: 0 })
  for (const each of await seen(made.run)) expect(each).toMatchObject({ starts: 1, failures: 0, category: 'Contrato' })
  expect(server.boughtTwiceAfterDelivery()).toEqual([])
  await booksAgree(made.run)
})

test('without credit it is asked once a minute, and goes on by itself when there is some', async () => {
  const { server, execute, run, tick, clock, seen, engine } = await classifier()
  server.behave(refuses(402))
  const made = await execute({ documents: 30 })
  await run()
  const asked = server.calls.length
  for (let minute = 1; minute <= 3; minute++) {
    await clock.advance(minutes(1))
    await tick()
    await run()
    expect(server.calls.length).toBe(asked + minute)
    expect(await engine.batch(made.batch)).toMatchObject({ state: 'paused', failed: 0 })
  }
  server.behave(ok())
  await clock.advance(minutes(1))
  await tick()
  await run()
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', succeeded: 30 })
  for (const each of await seen(made.run)) expect(each).toMatchObject({ starts: 1, failures: 0 })
})

test('ten minutes of 429: no document fails, and the execution never stalls', async () => {
  const { server, execute, run, tick, clock, seen, engine } = await classifier()
  server.behave(refuses(429))
  const made = await execute({ documents: 50 })
  for (let passed = 0; passed < 600; passed += 30) {
    await run()
    await clock.advance(seconds(30))
    await tick()
    expect((await engine.batch(made.batch))!.state).toBe('running')
  }
  const asked = server.calls.length
  server.behave(ok())
  for (let passed = 0; passed < 330; passed += 30) {
    await clock.advance(seconds(30))
    await run()
  }
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', succeeded: 50 })
  for (const each of await seen(made.run)) expect(each).toMatchObject({ starts: 1, failures: 0 })
  // Longer and longer waits: the questions do not become a storm.
  expect(asked).toBeLessThan(150)
})

test('a document that fails at once, with eight more tries, never makes its execution stall', async () => {
  const { server, execute, run, tick, clock, seen, engine } = await classifier()
  server.behave(({ document }) => (document === 'D-2' ? refuses(500) : ok()))
  const made = await execute({ documents: 3, retries: 8 })
  const states = new Set<string>()
  while ((await engine.batch(made.batch))!.finishedAt === null) {
    await run()
    await tick()
    states.add((await engine.batch(made.batch))!.state)
    await clock.advance(seconds(30))
  }
  expect(states).toEqual(new Set(['running', 'completed_with_failures']))
  expect(await seen(made.run)).toMatchObject([
    { state: 'succeeded' },
    { state: 'failed', starts: 9, failures: 9 },
    { state: 'succeeded' },
  ])
})

test('a storm at random: every document ends, none is bought again after its answer came, errors have message, stack and time', async () => {
  const { server, execute, run, tick, clock, seen, engine, sql, booksAgree } = await classifier()
  const says = storm(20_301, 20)
  server.behave(says)
  const fetching = globalThis.fetch
  // Time does not pass while an answer is on the way, except for an answer that never comes.
  vi.stubGlobal('fetch', (...given: Parameters<typeof fetch>) => {
    const document = /D-\d+/.exec(String(given[1]?.body))![0]
    const { name } = says({ n: 0, nth: server.of(document).length + 1, document, model: '' })
    const asked = fetching(...given)
    return name === 'never' ? asked : clock.during(asked)
  })
  const made = await execute({ documents: 120, retries: 1 })
  const isOver = async () => (await engine.batch(made.batch))!.finishedAt !== null
  while (!(await isOver())) {
    let idle = false
    const working = run().then(() => {
      idle = true
    })
    while (!idle) await clock.advance(seconds(5))
    await working
    await tick()
    expect((await engine.batch(made.batch))!.state).not.toBe('stalled')
    await clock.advance(seconds(5))
  }
  const all = await seen(made.run)
  expect(all.filter(each => each.state === 'succeeded').length).toBeGreaterThan(100)
  const bad = all.filter(each => each.state === 'failed')
  expect(bad.length).toBeGreaterThan(0)
  for (const { error } of bad) {
    expect(error!.message).toMatch(/OpenRouter/)
    expect(error!.stack).toMatch(/\n {4}at /)
  }
  expect(await sql(`select from retoma.job where state = 'failed' and finished_at is null`)).toEqual([])
  expect(server.boughtTwiceAfterDelivery()).toEqual([])
  await booksAgree(made.run)
})

test('the key is in no row and no line of the log, whatever the provider says', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'debug', format: 'json', write: line => void lines.push(line) })
  const { server, execute, run, clock, sql, engine } = await classifier({}, { log })
  const echo = { message: `Invalid key ${server.key}` }
  const behaviours = [refuses(500, echo), garbage(`{"x":"${server.key}"}`), refuses(400, echo), refuses(401, echo)]
  server.behave(({ n }) => [...behaviours, ok({ categoria: server.key }), ok({ justificativa: 'x' })][n % 6]!)
  const made = await execute({ documents: 6 })
  for (let n = 0; n < 5; n++) {
    await run()
    await engine.batches.resume(made.batch).catch(() => {})
    await clock.advance(minutes(2))
  }
  expect(server.calls.length).toBeGreaterThan(8)
  const tables = [
    'retoma.job',
    'retoma.failure',
    'retoma.checkpoint',
    'retoma.event',
    'retoma.batch',
    'retoma.provider',
    'classifier.document',
    'classifier.purchase',
  ]
  for (const table of tables) {
    const rows = await sql<{ row: string }>(`select t::text as row from ${table} t`)
    expect(rows.length).toBeGreaterThan(0)
    expect(inspect(rows, { maxStringLength: null, maxArrayLength: null })).not.toContain(server.key)
  }
  expect(lines.join('\n')).not.toContain(server.key)
})
