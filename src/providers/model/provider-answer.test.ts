/** The verdict about an answer: a table of statuses, waits in headers, and random bytes. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deferralOf } from '../../jobs/model/deferral.ts'
import { isNonRetryable } from '../../jobs/model/outcome.ts'
import { hideSecrets, judgeAnswer, type ProviderAnswer, retryAfterOf, unwrapVerdict } from './provider-answer.ts'

const key = 'key-0123456789/abc='
const facts = { name: 'Example', setting: 'EXAMPLE_BASE_URL', secrets: [undefined, key] }
const answer = (status: number, body = '', headers: Record<string, string> = {}) => ({
  status,
  header: (name: string) => headers[name] ?? null,
  body,
})

describe('a status has one meaning', () => {
  test.each([
    [200, 'ok'],
    [204, 'ok'],
    [301, 'stop'],
    [307, 'stop'],
    [400, 'item'],
    [401, 'stop'],
    [402, 'stop'],
    [403, 'stop'],
    [404, 'item'],
    [408, 'retry'],
    [409, 'retry'],
    [413, 'item'],
    [422, 'item'],
    [425, 'retry'],
    [429, 'wait'],
    [500, 'retry'],
    [502, 'retry'],
    [503, 'wait'],
    [529, 'retry'],
  ])('%i: %s', (status, is) => {
    expect(judgeAnswer(answer(status), facts)).toMatchObject({ is })
  })

  test('an absent answer is a retry', () => {
    const absent: [ProviderAnswer, string][] = [
      [{ failure: 'unreachable', code: 'ECONNRESET' }, 'provider_unreachable'],
      [{ failure: 'timeout', seconds: 60 }, 'provider_timeout'],
      [{ failure: 'too_large', maxBytes: 1 }, 'provider_useless'],
    ]
    for (const [given, code] of absent) expect(judgeAnswer(given, facts)).toMatchObject({ is: 'retry', why: { code } })
    expect(judgeAnswer({ failure: 'unreachable', code: `Bearer ${key}` }, facts)).toMatchObject({
      why: { facts: { problem: 'unknown' } },
    })
  })

  test('the caller decides by the body, but a redirect stays a stop that names the setting', () => {
    expect(judgeAnswer(answer(200), facts, { status: 402, meaning: 'stop', words: 'no credit' })).toMatchObject({
      is: 'stop',
      why: { message: 'provider_refused: Example refuses to go on (status 402): no credit' },
    })
    expect(judgeAnswer(answer(404), facts, { meaning: 'ok' })).toMatchObject({ is: 'ok', value: { status: 404 } })
    const moved = judgeAnswer(answer(302), facts, { meaning: 'retry' })
    expect(moved).toMatchObject({ is: 'stop', why: { code: 'provider_moved' } })
    expect(moved.why.message).toContain('EXAMPLE_BASE_URL')
    expect(judgeAnswer(answer(429), facts, { retryAfter: null })).toMatchObject({ is: 'wait', retryAfter: null })
  })
})

test('the words of the provider are one bounded line without tags', () => {
  const wordsIn = (body: string) =>
    (judgeAnswer(answer(500, body), facts, { meaning: 'retry' }).why.facts as { words: string }).words
  expect(wordsIn('{"error":{"message":"out\\n of memory"}}')).toBe('out of memory')
  expect(wordsIn('{"error":"overloaded"}')).toBe('overloaded')
  expect(wordsIn('{"message":"down"}')).toBe('down')
  expect(wordsIn('<html><b>Bad</b> gateway</html>')).toBe('Bad gateway')
  expect(wordsIn('')).toBe('-')
  expect([...wordsIn('😀'.repeat(5000))]).toHaveLength(300)
})

describe('the wait of an answer', () => {
  const date = new Date(Date.UTC(2026, 0, 2)).toUTCString()
  const in90 = new Date(Date.UTC(2026, 0, 2, 0, 1, 30))
  test.each([
    [{ 'retry-after': '30' }, 30_000],
    [{ 'retry-after': '0' }, 1_000],
    [{ 'retry-after': '999999999' }, 86_400_000],
    [{ 'retry-after': in90.toUTCString(), date }, 90_000],
    [{ 'retry-after': in90.toUTCString() }, null],
    [{ 'retry-after': '-5' }, null],
    [{ 'retry-after': 'soon' }, null],
    [{ 'ratelimit-reset': '12' }, 12_000],
    [{ 'x-ratelimit-reset': String(in90.getTime() / 1000), date }, 90_000],
    [{ 'x-ratelimit-reset': String(in90.getTime()), date }, 90_000],
    [{ 'retry-after': '60', 'ratelimit-reset': '12' }, 60_000],
    [{}, null],
  ] as [Record<string, string>, number | null][])('%o: %s ms', (headers, ms) => {
    expect(retryAfterOf(answer(429, '', headers))).toBe(ms)
  })
})

test('a verdict becomes its value, or an error that the engine understands, in the language of the users', () => {
  const thrown = (status: number, headers?: Record<string, string>) => {
    try {
      return unwrapVerdict(judgeAnswer(answer(status, 'sim', headers), facts), 'pt')
    } catch (error) {
      return error
    }
  }
  expect(thrown(200)).toMatchObject({ body: 'sim' })
  expect(deferralOf(thrown(429, { 'retry-after': '7' }))).toMatchObject({ why: 'wait', retryAfterMs: 7000 })
  expect(deferralOf(thrown(429))).toMatchObject({ why: 'wait', retryAfterMs: null, code: 'provider_busy' })
  expect(deferralOf(thrown(402))).toMatchObject({
    why: 'stop',
    message: 'Example se recusa a continuar (status 402): sim',
  })
  expect(thrown(500)).toMatchObject({ name: 'ProviderError', code: 'provider_error' })
  expect(isNonRetryable(thrown(500))).toBe(false)
  expect(isNonRetryable(thrown(400))).toBe(true)
})

test('secrets are hidden in each of their forms', () => {
  const text = `a ${key} b ${encodeURIComponent(key)} c api_key=other&d sk-abcdef123 ?token=t1 Bearer abcdefgh`
  const hidden = hideSecrets(text, facts.secrets)
  for (const secret of [key, encodeURIComponent(key), 'other', 'sk-abcdef', 't1', 'abcdefgh'])
    expect(hidden).not.toContain(secret)
  expect(hideSecrets('a \ud800 b', ['\ud800'])).toBe('a […] b')
})

test('whatever the bytes, an answer has one of five meanings, and no meaning repeats a secret', () => {
  const words = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(`x ${key} y`))
  const body = fc.oneof(
    words,
    fc
      .record({ error: fc.oneof(words, fc.record({ message: words })), message: words })
      .map(each => JSON.stringify(each)),
  )
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 599 }), body, fc.option(words), (status, text, header) => {
      const verdict = judgeAnswer({ status, header: () => header, body: text }, facts)
      expect(['ok', 'retry', 'wait', 'stop', 'item']).toContain(verdict.is)
      if (verdict.is !== 'ok') expect(inspect(verdict, { depth: 9 })).not.toContain(key)
    }),
    { numRuns: 300 },
  )
})
