/** Answers of FIPE: a table of meanings, and a vehicle over real sockets. */
import { inspect } from 'node:util'
import { type Duration, isNonRetryable, milliseconds } from 'retoma'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deferralOf } from '../../../src/jobs/model/deferral.ts'
import {
  type Behaviour,
  drips,
  errorBody,
  garbage,
  gzipBomb,
  half,
  huge,
  late,
  never,
  redirects,
  refuses,
} from '../test/servers/behaviours.ts'
import { type FipeServer, fipeServer } from '../test/servers/fipe.ts'
import { fipeProvider, judgeVehicle, readEntries, readVehicle } from './fipe.ts'

const received = (status: number, body: unknown) => ({
  status,
  header: () => null,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

test.each([
  [200, [{ code: '23', name: 'GM - Chevrolet' }], 'ok'],
  [200, [], 'retry'],
  [200, [{ Label: 'GM - Chevrolet', Value: '23' }], 'retry'],
  [200, {}, 'retry'],
  [200, '<html></html>', 'retry'],
  [200, { error: 'Rate limit exceeded' }, 'wait'],
  [200, { error: 'Unexpected' }, 'retry'],
  [400, { error: 'bad' }, 'item'],
  [401, { error: 'token' }, 'stop'],
  [403, '', 'stop'],
  [404, { error: 'Not found' }, 'item'],
  [429, { error: 'Rate limit exceeded' }, 'wait'],
  [500, '', 'retry'],
  [503, '', 'wait'],
] as [number, unknown, string][])('%i %o: %s', (status, body, is) => {
  expect(judgeVehicle(received(status, body), readEntries)).toMatchObject({ is })
})

test.each([
  [{ price: 'R$ 54.321,00', modelYear: 2019 }, '54321.00'],
  [{ price: 'R$ 1.234.567,89', modelYear: 32000 }, '1234567.89'],
  [{ price: '', modelYear: 2019 }, null],
  [{ price: 'R$ 1,00', modelYear: 'x' }, null],
])('the price of %o is %s', (given, price) => {
  expect(readVehicle({ brand: 'Fiat', model: 'Uno', ...given })?.price ?? null).toBe(price)
})

describe('over a socket', () => {
  let server: FipeServer
  beforeAll(async () => {
    server = await fipeServer()
  })
  afterAll(() => server.close())
  const signal = () => new AbortController().signal
  const provider = (timeout?: Duration) => fipeProvider({ baseUrl: server.baseUrl, token: server.token, timeout })

  test('a vehicle is found through references, brands, models and years', async () => {
    server.behave()
    const fipe = provider()
    const [reference] = await fipe.references(signal())
    expect(reference).toEqual({ code: '330', name: 'novembro/2026' })
    expect(await fipe.brands('cars', '330', signal())).toContainEqual({ code: '23', name: 'GM - Chevrolet' })
    expect(await fipe.models('cars', '23', '330', signal())).toHaveLength(4)
    expect(await fipe.years('cars', '23', '7603', '330', signal())).toContainEqual({
      code: '2019-1',
      name: '2019 Gasolina',
    })
    expect(await fipe.price('cars', '23', '7603', '2019-1', '330', signal())).toEqual({
      brand: 'GM - Chevrolet',
      model: 'ONIX HATCH LTZ 1.4 8V FlexPower 5p Aut.',
      modelYear: 2019,
      fuel: 'Gasolina',
      codeFipe: '007603-1',
      price: '54321.00',
      referenceMonth: 'novembro de 2026',
    })
    const { url, headers } = server.calls.at(-1)!.asked
    expect(`${url.pathname}${url.search}`).toBe('/api/v2/cars/brands/23/models/7603/years/2019-1?reference=330')
    expect(headers['x-subscription-token']).toBe(server.token)
  })

  test('404 of a vehicle is an error about this vehicle', async () => {
    server.behave()
    const error = await provider()
      .price('cars', '23', '7603', '1950-1', '330', signal())
      .catch(each => each)
    expect(error).toMatchObject({ code: 'provider_rejected' })
    expect(isNonRetryable(error)).toBe(true)
  })

  test('the end of the calls of a day is a wait', async () => {
    server.behave()
    server.setCallsLeft(0)
    const error = await provider()
      .references(signal())
      .catch(each => each)
    expect(deferralOf(error)).toMatchObject({ why: 'wait', retryAfterMs: null })
    server.setCallsLeft(1000)
  })

  test.each([
    ['half', half(), 'provider_unreachable'],
    ['never', never(), 'provider_timeout'],
    ['drips', drips(1), 'provider_timeout'],
    ['garbage', garbage(), 'provider_useless'],
    ['50 MB', huge(), 'provider_useless'],
    ['a gzip bomb', gzipBomb(), 'provider_useless'],
    ['late', late(60_000), 'provider_timeout'],
    ['500', refuses(500), 'provider_error'],
    ['529', refuses(529), 'provider_error'],
    ['200 with an error', errorBody(500), 'provider_error'],
  ] as [string, Behaviour, string][])('%s is an error without the token: %s', async (_, behaviour, code) => {
    server.behave(behaviour)
    const error = await provider(code === 'provider_timeout' ? milliseconds(50) : undefined)
      .references(signal())
      .catch(each => each)
    expect(error).toMatchObject({ code })
    expect(inspect(error, { depth: 9 })).not.toContain(server.token)
  })

  test.each([
    ['429', refuses(429, { retryAfter: '30' }), { why: 'wait', retryAfterMs: 30_000 }],
    ['429 without Retry-After', refuses(429), { why: 'wait', retryAfterMs: null }],
    ['402', refuses(402), { why: 'stop' }],
    ['401', refuses(401), { why: 'stop' }],
    ['403', refuses(403), { why: 'stop' }],
    ['a redirect', redirects('http://127.0.0.1:1/'), { why: 'stop' }],
    ['404 of the list that every vehicle needs', refuses(404), { why: 'stop' }],
  ] as [string, Behaviour, object][])('%s is a deferral of the engine', async (_, behaviour, deferral) => {
    server.behave(behaviour)
    const error = await provider()
      .references(signal())
      .catch(each => each)
    expect(deferralOf(error)).toMatchObject(deferral)
    expect(inspect(error, { depth: 9 })).not.toContain(server.token)
  })
})
