import { expect, test } from 'vitest'
import { handBackOf } from '../../src/core/hand-back.ts'
import { pauseBatch, providerStop, providerWait, seconds } from '../../src/index.ts'
import { packError, unpackError } from '../../src/isolation/packed-error.ts'

test('the words that hand an attempt back are the same on the other side, also as the cause of another error', () => {
  const words = [
    providerWait({ retryAfter: seconds(30), code: '429', message: 'slow down' }),
    providerStop({ code: '402', message: 'no credit' }),
    pauseBatch({ code: 'cost_limit', message: 'US$ 5' }),
  ]
  for (const word of words) {
    // As it travels.
    const sent = (error: Error) => unpackError(JSON.parse(JSON.stringify(packError(error))))
    expect(handBackOf(sent(word))).toEqual(handBackOf(word))
    expect(handBackOf(sent(new Error('around it', { cause: word })))).toEqual(handBackOf(word))
  }
  expect(handBackOf(unpackError(packError(new Error('no')))), 'another error').toBeUndefined()
})
