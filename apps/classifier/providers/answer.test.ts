/** The classes of responses: known responses of OpenRouter, and random bytes. */
import fc from 'fast-check'
import type { ProviderAnswer } from 'retoma'
import { describe, expect, test } from 'vitest'
import { type Answer, judge } from './answer.ts'
import { readReply } from './reply.ts'

const key = 'sk-or-v1-0123456789abcdef'
const categories = ['Contrato', 'Petição Inicial', 'C++', 'C#']
const about = { provider: 'OpenRouter', categories, key }

const received = (status: number, body: unknown, headers: Record<string, string> = {}): ProviderAnswer => ({
  status,
  header: name => headers[name] ?? null,
  body: typeof body === 'string' ? body : JSON.stringify(body),
})
const refusal = (code: unknown, message = 'no', metadata?: unknown) => ({ error: { code, message, metadata } })
const completion = (content: unknown, finish = 'stop', more: object = {}) => ({
  id: 'gen-1',
  model: 'm',
  choices: [{ finish_reason: finish, message: { role: 'assistant', content, ...more } }],
  usage: { prompt_tokens: 10, completion_tokens: 2, cost: 0.00012345 },
})
const said = (about: object) => completion(JSON.stringify(about))
const kind = (answer: Answer) => (answer.is === 'stop' ? `stop ${answer.of}` : answer.is)

describe('a status', () => {
  test.each([
    [400, "This endpoint's maximum context length is 8192 tokens", 'item'],
    [400, 'foo/bar is not a valid model ID', 'stop batch'],
    [401, 'No auth credentials found', 'stop provider'],
    [402, 'Insufficient credits', 'stop provider'],
    [403, 'Your chosen model requires moderation and your input was flagged', 'item'],
    [403, 'no', 'item'],
    [403, 'Key limit exceeded (monthly limit)', 'stop provider'],
    [403, 'This account is suspended', 'stop provider'],
    [404, 'No endpoints found for foo/bar', 'stop batch'],
    [408, 'Request timed out', 'retry'],
    [413, 'Payload too large', 'item'],
    [422, 'Unprocessable', 'item'],
    [429, 'Rate limit exceeded', 'wait'],
    [
      429,
      'Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day',
      'wait',
    ],
    [429, 'enforced_spend_limit_reached', 'stop provider'],
    [429, 'You exceeded your current quota, please check your plan and billing details', 'stop provider'],
    [500, 'Internal Server Error', 'retry'],
    [502, 'Provider returned error', 'retry'],
    [503, 'No instances available', 'wait'],
    [504, 'Gateway timeout', 'retry'],
    [529, 'Overloaded', 'retry'],
  ])('%i "%s": %s, and the same as an error in a body of status 200', (status, message, expected) => {
    expect(kind(judge(received(status, refusal(status, message)), about))).toBe(expected)
    expect(kind(judge(received(200, refusal(status, message)), about))).toBe(expected)
    expect(kind(judge(received(200, refusal(`${status}`, message)), about))).toBe(expected)
    expect(kind(judge(received(200, { choices: [refusal(status, message)] }), about))).toBe(expected)
  })

  test('403 with the metadata of a moderation is of the document, whatever its words', () => {
    const flagged = refusal(403, 'this key says no', { reasons: ['violence'], flagged_input: 'x' })
    expect(kind(judge(received(403, flagged), about))).toBe('item')
  })

  test('an error of status 200 without a code, or with a word for one', () => {
    expect(kind(judge(received(200, { error: 'oops' }), about))).toBe('retry')
    expect(kind(judge(received(200, refusal('insufficient_quota')), about))).toBe('stop provider')
    expect(kind(judge(received(200, refusal('rate_limit_exceeded')), about))).toBe('wait')
  })

  test('a redirect is not followed: the address is wrong, so everything stops until somebody corrects it', () => {
    for (const status of [301, 302, 303, 307, 308])
      expect(judge(received(status, ''), about)).toMatchObject({
        is: 'stop',
        of: 'provider',
        why: { code: 'provider_moved' },
      })
  })

  test('says what the provider said, in both languages, and a page of HTML without its tags', () => {
    const { why } = judge(received(402, refusal(402, 'Insufficient  credits')), about) as {
      why: Error & { in: (l: string) => string }
    }
    expect(why.in('pt')).toContain('OpenRouter se recusa a continuar (status 402): Insufficient credits')
    const page = judge(received(502, '<html><h1>Bad gateway</h1></html>'), about) as { why: Error }
    expect(page.why.message).toBe('provider_error: OpenRouter answered with error 502: Bad gateway')
  })
})

describe('how long to wait', () => {
  const date = 'Tue, 01 Jan 2030 12:00:00 GMT'
  test.each([
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': '999999999' }, 86_400],
    [{ 'retry-after': 'Tue, 01 Jan 2030 12:02:00 GMT', date }, 120],
    [{ 'retry-after': 'Tue, 01 Jan 2030 11:00:00 GMT', date }, 1],
    [{ 'retry-after': 'Tue, 01 Jan 2030 12:02:00 GMT' }, null],
    [{ 'x-ratelimit-reset': String(Date.parse(date) + 30_000), date }, 30],
    [{ 'retry-after': '-5', date }, null],
    [{ 'retry-after': 'soon', date }, null],
    [{}, null],
  ])('%o: %s s', (headers, expected) => {
    for (const status of [429, 503]) {
      const answer = judge(received(status, refusal(status), headers as Record<string, string>), about)
      expect(answer).toMatchObject({ is: 'wait', retryAfter: expected === null ? null : expected * 1000 })
    }
  })

  test('a free model says in its body when its day begins anew', () => {
    const metadata = { headers: { 'X-RateLimit-Reset': String(Date.parse(date) + 3_600_000) } }
    expect(judge(received(429, refusal(429, 'free-models-per-day', metadata), { date }), about)).toMatchObject({
      is: 'wait',
      retryAfter: 3_600_000,
    })
  })
})

describe('no answer', () => {
  test.each([
    [{ failure: 'unreachable', code: 'ECONNRESET' }, /^provider_unreachable: .*\(ECONNRESET\)$/],
    [{ failure: 'unreachable', code: `Bearer ${key}` }, /^provider_unreachable: .*\(unknown\)$/],
    [{ failure: 'too_large', maxBytes: 1 }, 'provider_useless: the answer of OpenRouter is of no use: it is too long'],
  ] as [ProviderAnswer, string | RegExp][])('%o is tried again', (given, message) => {
    expect(judge(given, about)).toMatchObject({
      is: 'retry',
      bought: null,
      why: { message: expect.stringMatching(message) },
    })
  })
})

describe('an answer', () => {
  const right = { categoria: 'Contrato', confianca: 0.93, justificativa: 'Há cláusulas.' }
  const reply = { category: 'Contrato', confidence: 0.93, justification: 'Há cláusulas.' }

  test('is taken with what was paid for it', () => {
    expect(judge(received(200, said(right)), about)).toEqual({
      is: 'ok',
      reply,
      bought: { id: 'gen-1', model: 'm', tokensIn: 10, tokensOut: 2, cost: '0.000123' },
      written: JSON.stringify(right),
    })
  })

  test.each([
    [`\`\`\`json\n${JSON.stringify(right)}\n\`\`\``],
    [`Claro! Aqui está {não é}: ${JSON.stringify(right)} Espero ter ajudado }`],
    [JSON.stringify([right])],
    [JSON.stringify({ Categoria: 'CONTRATO', Confiança: '93%', Justificativa: 'Há cláusulas.' })],
    [JSON.stringify({ ...right, categoria: ' contrato. ', confianca: '0,93' })],
    [JSON.stringify({ ...right, confianca: 93 })],
  ])('%s is the same', content => {
    expect(judge(received(200, completion(content)), about)).toMatchObject({ is: 'ok', reply })
    expect(judge(received(200, completion([{ type: 'text', text: content }])), about)).toMatchObject({
      is: 'ok',
      reply,
    })
  })

  test.each([
    ['peticao inicial', 'Petição Inicial'],
    ['PETIÇÃO  INICIAL', 'Petição Inicial'],
    ['Petic\u0327a\u0303o-inicial', 'Petição Inicial'],
    ['c#', 'C#'],
  ])('"%s" is %s', (categoria, category) => {
    expect(readReply(JSON.stringify({ categoria }), categories)).toMatchObject({ is: 'reply', reply: { category } })
  })

  test.each(['Sentença', '', 'c', 'Contrato de locação'])(
    '"%s" is no category: the document fails, and is paid for',
    categoria => {
      expect(judge(received(200, said({ categoria })), about)).toMatchObject({
        is: 'item',
        why: { code: 'category_unknown' },
        bought: { cost: '0.000123' },
      })
    },
  )

  test.each([
    [null, 'stop', 'it has no content'],
    ['', 'stop', 'it has no content'],
    ['{"categoria": "Contr', 'length', 'it was cut off'],
    ['não sei', 'stop', 'it names no category'],
    ['{"categoria": null}', 'stop', 'it names no category'],
  ])('content %o is of no use, tried again, and paid for', (content, finish, problem) => {
    const answer = judge(received(200, completion(content, finish)), about)
    expect(answer).toMatchObject({ is: 'retry', bought: { cost: '0.000123' } })
    expect((answer as { why: Error }).why.message).toContain(problem)
  })

  test('a filter or a refusal of the model is of the document', () => {
    expect(kind(judge(received(200, completion(null, 'content_filter')), about))).toBe('item')
    expect(kind(judge(received(200, completion(null, 'stop', { refusal: 'I cannot' })), about))).toBe('item')
  })

  test.each([[''], ['<html></html>'], ['null'], ['[]'], ['{}'], ['{"choices": 1}']])(
    'a body %s was not paid for',
    body => {
      expect(judge(received(200, body), about)).toMatchObject({ is: 'retry', bought: null })
    },
  )
})

test('an answer that repeats the key is kept without it', () => {
  const said = JSON.stringify({ categoria: categories[0], justificativa: `com ${key}, e ${key}` })
  const body = { ...completion(said), id: key, model: `m ${key}` }
  const answer = judge(received(200, body), about)
  expect(answer).toMatchObject({ is: 'ok', reply: { category: categories[0] }, bought: { cost: '0.000123' } })
  expect(JSON.stringify(answer)).not.toContain(key)
})

test('whatever the bytes, it answers one of five, and a key is in nothing it says', () => {
  const status = fc.oneof(
    fc.constantFrom(200, 400, 401, 402, 403, 404, 429, 500, 503),
    fc.integer({ min: 100, max: 599 }),
  )
  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc
      .record({ error: fc.anything({ withNullPrototype: true }), choices: fc.anything(), usage: fc.anything() })
      .map(each => safely(each)),
    fc.anything().map(code => safely({ error: { code, message: `Invalid key ${key}`, metadata: code } })),
    fc.string({ unit: 'binary' }).map(text => JSON.stringify(completion(text))),
    fc.anything().map(value => JSON.stringify(completion(safely({ categoria: key, confianca: value })))),
  )
  const header = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(status, anything, header, (code, body, said) => {
      const answer = judge({ status: code, header: () => said, body }, about)
      expect(['ok', 'retry', 'wait', 'stop', 'item']).toContain(answer.is)
      const words =
        'why' in answer
          ? `${answer.why.message} ${answer.why.stack} ${answer.why.in('pt')} ${JSON.stringify(answer.why.facts)}`
          : ''
      expect(words).not.toContain(key)
      expect(words).not.toContain('\u0000')
    }),
    { numRuns: 2000 },
  )
})

const safely = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}
