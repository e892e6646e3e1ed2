/** `GET /api/v1/providers`, `clear`, and what the metrics say of them. */
import { expect, test } from 'vitest'
import { defineBatch, defineJob, hours, providerStop, providerWait, seconds } from '../../src/index.ts'
import { doorWith } from './support.ts'

test('providers that wait or have stopped are listed in their own words, and measured', async () => {
  let says = () => providerWait({ retryAfter: seconds(60), code: '429', message: 'slow down' })
  const job = defineJob({
    kind: 'ask',
    run: ctx =>
      ctx.provider('openrouter', () => {
        throw says()
      }),
  })
  const batch = defineBatch({ name: 'b', job })
  const { ask, engine, run, clock } = await doorWith([], { batches: [batch] })
  expect((await ask('GET', '/api/v1/providers')).body).toEqual({ items: [], next: null })
  const { id } = await engine.submit(batch, [undefined])
  await run()
  expect((await ask('GET', '/api/v1/providers')).body.items).toMatchObject([
    {
      name: 'openrouter',
      state: 'waiting',
      kinds: ['ask'],
      consecutive_waits: 1,
      code: '429',
      message: 'slow down',
      stopped_at: null,
    },
  ])
  const measured = async () =>
    Object.fromEntries(
      (await engine.metrics.read())
        .filter(each => each.name.startsWith('retoma_provider_'))
        .map(({ name, samples }) => [name, samples]),
    )
  const labels = { provider: 'openrouter' }
  expect(await measured()).toEqual({
    retoma_provider_waiting: [{ labels, value: 1 }],
    retoma_provider_stopped: [{ labels, value: 0 }],
  })
  says = () => providerStop({ code: '402', message: 'Insufficient credits' })
  await clock.advance(seconds(70))
  await run()
  expect((await ask('GET', '/api/v1/providers')).body.items).toMatchObject([
    { state: 'stopped', code: '402', message: 'Insufficient credits', wait_until: null },
  ])
  expect(await measured()).toEqual({
    retoma_provider_waiting: [{ labels, value: 0 }],
    retoma_provider_stopped: [{ labels, value: 1 }],
  })
  expect((await ask('GET', `/api/v1/batches/${id}`)).body).toMatchObject({
    state: 'paused',
    reason: { code: 'provider', provider: 'openrouter', message: 'Insufficient credits' },
  })
  const { items } = (await ask('GET', `/api/v1/batches/${id}/items`)).body
  expect(items).toMatchObject([{ state: 'waiting', attempt: 2, starts: 0, failures: 0 }])
  await ask('POST', `/api/v1/batches/${id}/resume`)
  expect((await ask('GET', '/api/v1/providers')).body.items).toMatchObject([{ state: 'open' }])
})

test('an operator has one asked again at once, and a repeated call changes nothing', async () => {
  let isDown = true
  const job = defineJob({
    kind: 'ask',
    run: ctx =>
      ctx.provider('openrouter', () => {
        if (isDown) throw providerWait({ retryAfter: hours(3), message: 'slow down' })
        return 'ok'
      }),
  })
  const { ask, engine, run } = await doorWith([job])
  const { id } = await engine.enqueue(job, undefined)
  await run()
  isDown = false
  const clear = (name: string) => ask('POST', `/api/v1/providers/${name}/clear`)
  expect(await clear('openrouter')).toMatchObject({
    status: 200,
    body: { name: 'openrouter', state: 'open', changed: true },
  })
  expect((await clear('openrouter')).body).toEqual({ name: 'openrouter', state: 'open', changed: false })
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', starts: 1 })
  for (const name of ['nobody', '%00', 'a%2Fb', 'x'.repeat(300)])
    expect(await clear(name)).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
})
