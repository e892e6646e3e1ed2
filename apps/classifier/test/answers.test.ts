/** Each class of answers, from the provider's socket to the document's row. */
import { minutes, seconds } from 'retoma'
import { expect, test } from 'vitest'
import { until } from '../../../test/support/engine.ts'
import {
  type Behaviour,
  content,
  cut,
  eachDocument,
  errorBody,
  fenced,
  garbage,
  half,
  never,
  ok,
  refuses,
} from './behaviours.ts'
import { classifier } from './executions.ts'

test.each([
  ['ok', ok()],
  ['in a fence', fenced()],
  ['in other letters', ok({ categoria: ' CONTRATO. ' })],
])('an answer %s is kept with what it cost', async (_, behaviour) => {
  const { server, execute, run, seen, booksAgree, engine } = await classifier()
  server.behave(behaviour)
  const made = await execute({ documents: 2 })
  await run()
  for (const each of await seen(made.run)) {
    expect(each).toMatchObject({
      state: 'succeeded',
      starts: 1,
      failures: 0,
      category: 'Contrato',
      confidence: '0.9300',
      model: 'openai/gpt-4o-mini',
      cost_usd: '0.001200',
      simulated: false,
      reused_from: null,
    })
  }
  expect(server.calls).toHaveLength(2)
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded' })
  await booksAgree(made.run)
})

test.each([
  ['500', refuses(500), 'provider_error', false],
  ['502', refuses(502), 'provider_error', false],
  ['408', refuses(408), 'provider_error', false],
  ['529', refuses(529), 'provider_error', false],
  ['200 with 502 in its body', errorBody(502), 'provider_error', false],
  ['HTML', garbage(), 'provider_useless', false],
  ['nothing', garbage(''), 'provider_useless', false],
  ['half of it', half(), 'provider_unreachable', false],
  ['no content', content(null), 'provider_useless', true],
  ['talk', content('Não sei dizer.'), 'provider_useless', true],
  ['an end in the middle', cut(), 'provider_useless', true],
] as [string, Behaviour, string, boolean][])(
  '%s is a failed attempt: tried again after 5 s and 10 s, then the document fails with message, stack and time',
  async (_, behaviour, code, paid) => {
    const { server, execute, run, clock, seen, sql, booksAgree } = await classifier()
    server.behave(behaviour)
    const made = await execute({ documents: 1 })
    await run()
    expect(server.calls).toHaveLength(1)
    await clock.advance(seconds(4.9))
    await run()
    expect(server.calls).toHaveLength(1)
    await clock.advance(seconds(0.7))
    await run()
    expect(server.calls).toHaveLength(2)
    await clock.advance(seconds(11.1))
    await run()
    const [each] = await seen(made.run)
    expect(each).toMatchObject({ state: 'failed', starts: 3, failures: 3, error: { code }, category: null })
    expect(each!.error!.message).not.toMatch(/^\w+: /)
    expect(each!.error!.stack).toMatch(/ClassifierError: [\s\S]*\n {4}at /)
    expect(await sql(`select code, at is not null as timed from retoma.failure order by attempt`)).toEqual(
      Array(3).fill({ code, timed: true }),
    )
    const [{ n, useful }] = (await sql(
      `select count(*)::int as n, bool_or(usable) as useful from classifier.purchase`,
    )) as [{ n: number; useful: boolean | null }]
    expect([n, useful]).toEqual(paid ? [3, false] : [0, null])
    await booksAgree(made.run)
  },
)

test.each([
  ['400 too long', refuses(400), 'document_refused', /recusa este documento.*maximum context length/, 0],
  ['403 of a moderation', refuses(403, { metadata: { reasons: ['x'] } }), 'document_refused', /flagged/, 0],
  ['a category that is none', ok({ categoria: 'Sentença' }), 'category_unknown', /"Sentença"/, 1],
] as [string, Behaviour, string, RegExp, number][])(
  '%s is of the document alone: it fails at once, and the others do not',
  async (_, behaviour, code, message, bought) => {
    const { server, execute, run, seen, sql, booksAgree } = await classifier()
    server.behave(({ document }) => (document === 'D-2' ? behaviour : ok()))
    const made = await execute({ documents: 3 })
    await run()
    const [first, second, third] = await seen(made.run)
    expect([first!.state, third!.state]).toEqual(['succeeded', 'succeeded'])
    expect(second).toMatchObject({
      state: 'failed',
      starts: 1,
      error: { code, message: expect.stringMatching(message) },
    })
    expect(server.of('D-2')).toHaveLength(1)
    expect(await sql(`select from classifier.purchase where not usable`)).toHaveLength(bought)
    await booksAgree(made.run)
  },
)

test('a document that failed for its category is asked for again when a person has it reprocessed, and paid for twice', async () => {
  const { server, execute, run, seen, engine, booksAgree } = await classifier()
  server.behave(eachDocument(ok({ categoria: 'Sentença' }), ok()))
  const made = await execute({ documents: 1 })
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'failed', cost_usd: '0.001200' }])
  await engine.batches.retryFailed(made.batch)
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'succeeded', starts: 2, cost_usd: '0.002400' }])
  expect(server.calls).toHaveLength(2)
  await booksAgree(made.run)
})

test.each([
  ['429 with Retry-After', refuses(429, { retryAfter: '30' }), 30],
  ['503 without', refuses(503), 1],
  ['429 in a body of status 200', errorBody(429), 1],
])('%s: all wait, nobody is charged, and it goes on by itself', async (_, behaviour, after) => {
  const { server, execute, run, clock, seen, engine } = await classifier()
  server.behave(behaviour)
  const made = await execute({ documents: 40 })
  await run()
  const asked = server.calls.length
  expect(asked).toBeLessThanOrEqual(20)
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'running', failed: 0 })
  server.behave(ok())
  await clock.advance(seconds(after - 0.5))
  await run()
  expect(server.calls).toHaveLength(asked)
  await clock.advance(seconds(after))
  await run()
  await clock.advance(minutes(1))
  await run()
  const all = await seen(made.run)
  expect(all.filter(each => each.state === 'succeeded' && each.starts === 1 && each.failures === 0)).toHaveLength(40)
})

test.each([
  ['402', refuses(402), 'provider', /OpenRouter se recusa a continuar \(status 402\): Insufficient credits/],
  ['401', refuses(401), 'provider', /No auth credentials/],
  ['a spend limit', refuses(429, { message: 'enforced_spend_limit_reached' }), 'provider', /spend_limit/],
  ['402 in a body of status 200', errorBody(402), 'provider', /Insufficient credits/],
  ['an unknown model', refuses(404, { message: 'No endpoints found for x/y' }), 'ai_model', /No endpoints found/],
])(
  '%s: the execution is paused in the words of the provider, and no document fails',
  async (_, behaviour, code, message) => {
    const { server, execute, run, seen, engine } = await classifier()
    server.behave(behaviour)
    const made = await execute({ documents: 60 })
    await run()
    expect(await engine.batch(made.batch)).toMatchObject({
      state: 'paused',
      failed: 0,
      reason: { code, message: expect.stringMatching(message) },
    })
    expect(server.calls.length).toBeLessThanOrEqual(20)
    server.behave(ok())
    await engine.batches.resume(made.batch)
    await run()
    expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', succeeded: 60 })
    for (const each of await seen(made.run)) expect(each).toMatchObject({ starts: 1, failures: 0 })
  },
)

test('one that never answers is left after a minute, and that is a failed attempt', async () => {
  const { server, execute, run, clock, seen } = await classifier()
  server.behave(eachDocument(never(), ok()))
  const made = await execute({ documents: 1 })
  const running = run()
  await server.called(1)
  await clock.advance(seconds(59))
  expect(server.inFlight()).toBe(1)
  await clock.advance(seconds(2))
  await running
  await until(() => server.inFlight() === 0)
  expect(await seen(made.run)).toMatchObject([
    { state: 'waiting', failures: 1, error: { code: 'provider_timeout', message: 'OpenRouter não respondeu em 60 s' } },
  ])
  await clock.advance(seconds(6))
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'succeeded', starts: 2, failures: 1 }])
})

test('nobody there at all is a failed attempt, too', async () => {
  const { server, execute, run, clock, seen } = await classifier()
  await server.down()
  const made = await execute({ documents: 1, retries: 1 })
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'waiting', error: { code: 'provider_unreachable' } }])
  await server.up()
  await clock.advance(seconds(6))
  await run()
  expect(await seen(made.run)).toMatchObject([{ state: 'succeeded', starts: 2 }])
})

test('an empty document is skipped, and nobody is asked', async () => {
  const { server, execute, run, seen, engine } = await classifier()
  const made = await execute({ documents: [' \n\t', 'D-2 contrato'] })
  await run()
  const [empty, full] = await seen(made.run)
  expect(empty).toMatchObject({ state: 'skipped', error: { message: 'documento sem texto' }, category: null })
  expect(full).toMatchObject({ state: 'succeeded' })
  expect(server.calls).toHaveLength(1)
  expect(await engine.batch(made.batch)).toMatchObject({ state: 'succeeded', skipped: 1 })
})

test('a long document is cut to what the model takes, and its justification says so', async () => {
  const { server, execute, run, seen } = await classifier()
  const made = await execute({ documents: [`D-1 contrato ${'x'.repeat(150_000)}`] })
  await run()
  expect(server.calls[0]!.asked.at(-1)!.content.length).toBeLessThan(50_000)
  expect((await seen(made.run))[0]!.justification).toMatch(/^O texto trata disso\. Documento longo: [\d.]+ caracteres/)
})

test('without a key the local classifier answers, marked as played, at no cost, and nothing leaves', async () => {
  const { server, execute, run, seen } = await classifier({ key: null })
  const made = await execute({ documents: ['a petição inicial do autor', 'um contrato'] })
  await run()
  expect(await seen(made.run)).toMatchObject([
    { category: 'Petição Inicial', simulated: true, model: 'local', cost_usd: '0.000000', state: 'succeeded' },
    { category: 'Contrato', simulated: true },
  ])
  expect(server.calls).toEqual([])
})

test('the model is the execution’s, else that of the settings', async () => {
  const { server, execute, run } = await classifier({ model: 'of/settings' })
  await execute({ documents: 1, model: 'of/project' })
  await run()
  await execute({ documents: 1 })
  await run()
  expect(server.calls.map(call => call.model)).toEqual(['of/project', 'of/settings'])
})
