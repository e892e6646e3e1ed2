import { describe, expect, test } from 'vitest'
import { hours, seconds } from '../../lib/values/duration.ts'
import { providerStop, providerWait } from '../../providers/model/provider-errors.ts'
import { deferralOf, delayOf, pauseBatch, pauseOf } from './deferral.ts'

const said = (error: Error) => deferralOf(error)!

describe('how long a deferred job waits', () => {
  test('as its provider asked, a little longer by chance, and never not at all or for more than a day', () => {
    const delay = (retryAfter: number, random = 0) =>
      delayOf(said(providerWait({ retryAfter: retryAfter as never })), true, random)
    expect(delay(30_000)).toBe(30_000)
    expect(delay(30_000, 1)).toBe(33_000)
    expect(delay(600_000, 1)).toBe(605_000)
    expect(delay(0)).toBe(seconds(1))
    expect(delay(Number.POSITIVE_INFINITY)).toBe(hours(24))
    expect(delayOf(said(providerWait()), false, 0)).toBe(seconds(1))
  })

  test('not at all where its batch is paused for it; alone, until the provider may be asked again', () => {
    const stop = said(providerStop({ code: '402', message: 'no credit' }))
    expect(delayOf(stop, true, 1)).toBe(0)
    expect(delayOf(stop, false, 0)).toBe(seconds(60))
    expect(delayOf({ ...stop, delayMs: 20_000 }, false, 0)).toBe(seconds(20))
  })
})

test('why a batch is paused: in the words of the provider, or for a reason of the application', () => {
  expect(pauseOf(said(providerWait()))).toBeNull()
  const stop = said(providerStop({ code: '402', message: 'no credit' }))
  expect(pauseOf({ ...stop, provider: 'p' })).toEqual({
    code: 'provider',
    provider: 'p',
    message: 'no credit',
    answer: '402',
  })
  expect(pauseOf(said(pauseBatch({ code: 'cost_limit', message: 'US$ 5' })))).toEqual({
    code: 'cost_limit',
    message: 'US$ 5',
  })
})

test('what was thrown may be anything', () => {
  const loop = new Error('a')
  loop.cause = loop
  const hostile = new Proxy(new Error('x'), {
    get() {
      throw new Error('do not look')
    },
  })
  for (const thrown of [undefined, null, 'text', 5, {}, loop, hostile]) expect(deferralOf(thrown)).toBeUndefined()
})

test('what cannot be stored of its words is not kept', () => {
  const { code, message } = said(
    providerStop({ code: `4${'x'.repeat(1000)}`, message: `no\u0000 ${'y'.repeat(5000)}` }),
  )
  expect(code).toHaveLength(200)
  expect(message).toHaveLength(1999)
  expect(message).not.toContain('\u0000')
})
