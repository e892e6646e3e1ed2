import { expect, test } from 'vitest'
import { defineErrors, pauseBatch, providerStop, providerWait, RetomaError, seconds } from '../../src/index.ts'
import { packError, unpackError } from '../../src/isolation/error-wire.ts'
import { deferralOf } from '../../src/jobs/model/deferral.ts'

test('the words that hand an attempt back are the same on the other side, also as the cause of another error', () => {
  const words = [
    providerWait({ retryAfter: seconds(30), code: '429', message: 'slow down' }),
    providerStop({ code: '402', message: 'no credit' }),
    pauseBatch({ code: 'cost_limit', message: 'US$ 5' }),
  ]
  for (const word of words) {
    // As it travels.
    const sent = (error: Error) => unpackError(JSON.parse(JSON.stringify(packError(error))))
    expect(deferralOf(sent(word))).toEqual(deferralOf(word))
    expect(deferralOf(sent(new Error('around it', { cause: word })))).toEqual(deferralOf(word))
  }
  expect(deferralOf(unpackError(packError(new Error('no')))), 'another error').toBeUndefined()
})

test("an error of an application's own is the same on the other side, which does not know its table", () => {
  const errors = defineErrors({ sold_out: { status: 409, en: 'seat {seat} is sold', pt: 'vendido: {seat}' } })
  const error = new RetomaError(errors.sold_out, { seat: '4F' })
  const there = unpackError(JSON.parse(JSON.stringify(packError(error)))) as RetomaError
  expect(there).toMatchObject({ code: 'sold_out', status: 409, message: error.message })
  expect(there.in('pt')).toBe('vendido: 4F')
})
