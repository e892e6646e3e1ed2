/** Checks the stand-in: the assumptions of the other tests about the stand-in. */
import { expect, onTestFinished, test } from 'vitest'
import {
  cut,
  drips,
  eachDocument,
  errorBody,
  fenced,
  from,
  garbage,
  half,
  late,
  mixture,
  never,
  ok,
  refuses,
} from './behaviours.ts'
import { openRouterServer } from './openrouter-server.ts'

async function world() {
  const server = await openRouterServer()
  onTestFinished(() => server.close())
  const ask = (document: string, signal?: AbortSignal) =>
    fetch(`${server.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        messages: [
          { role: 'system', content: 'categorias: ["Contrato","Petição"]' },
          { role: 'user', content: `${document} é uma petição` },
        ],
      }),
      ...(signal === undefined ? {} : { signal }),
    })
  return { server, ask }
}

test('its ledger says what was bought, for which document, and whether it arrived', async () => {
  const { server, ask } = await world()
  const answer = (await (await ask('D-1')).json()) as { choices: { message: { content: string } }[] }
  expect(JSON.parse(answer.choices[0]!.message.content)).toMatchObject({ categoria: 'Petição', confianca: 0.93 })
  server.behave(half(), half(), refuses(429, { retryAfter: '7' }), cut())
  await expect((await ask('D-2')).text()).rejects.toThrow()
  const refused = await ask('D-2')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
  await (await ask('D-2')).text()
  expect(server.of('D-2').map(({ answered, cost, delivered, useful }) => [answered, cost, delivered, useful])).toEqual([
    ['half', 0.0012, false, false],
    ['429', 0, true, false],
    ['content', 0.0012, true, false],
  ])
  expect(server.boughtTwiceAfterDelivery()).toEqual([])
  await (await ask('D-1')).text()
  expect(server.boughtTwiceAfterDelivery()).toEqual(['D-1'])
  expect(server.charged()).toBeCloseTo(0.0012 * 3)
})

test('one that never answers, and one that drips, end when their client goes', async () => {
  const { server, ask } = await world()
  for (const behaviour of [never(), drips(5), late(60_000)]) {
    server.behave(behaviour)
    const gone = new AbortController()
    const asked = ask('D-1', gone.signal).then(response => response.text())
    await server.called(server.calls.length + 1)
    gone.abort()
    await expect(asked).rejects.toThrow()
    while (server.inFlight() > 0) await new Promise(resolve => setImmediate(resolve))
    expect(server.calls.at(-1)).toMatchObject({ answered: behaviour.name, delivered: false })
  }
})

test('it answers by the order of calls, by document, and at random alike for the same seed', async () => {
  const { server, ask } = await world()
  server.behave(from(2, refuses(402)))
  expect([(await ask('D-1')).status, (await ask('D-2')).status]).toEqual([200, 402])
  server.behave(eachDocument(errorBody(502), ok()))
  expect(await (await ask('D-3')).json()).toMatchObject({ error: { code: 502 } })
  expect(await (await ask('D-3')).json()).toMatchObject({ usage: { cost: 0.0012 } })
  const play = mixture(7, [
    [0.5, garbage()],
    [0.25, fenced()],
  ])
  const names = () => Array.from({ length: 400 }, (_, n) => play({ n, nth: 1, document: `D-${n}`, model: '' }).name)
  expect(names()).toEqual(names())
  const share = (name: string) => names().filter(each => each === name).length / 400
  expect(share('garbage')).toBeCloseTo(0.5, 1)
  expect(share('ok')).toBeCloseTo(0.25, 1)
})

test('while it is down connections are refused', async () => {
  const { server, ask } = await world()
  await server.down()
  await expect(ask('D-1')).rejects.toThrow()
  await server.up()
  expect((await ask('D-1')).status).toBe(200)
})
