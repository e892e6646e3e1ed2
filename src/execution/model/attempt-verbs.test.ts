import { expect, test } from 'vitest'
import { type AttemptStorage, callVerb } from './attempt-verbs.ts'

const storage = {
  piece: async (id: string, n: number) => `${id} ${n}`,
  transact: async () => 'never by name',
} as unknown as AttemptStorage

test('a verb is called with the arguments of the child', async () => {
  expect(await callVerb(storage, 'piece', ['7', 1])).toBe('7 1')
})

test.each(['transact', 'constructor', '__proto__', 'toString', 'drop'])('"%s" is no verb of a child', async verb => {
  await expect(callVerb(storage, verb, [])).rejects.toThrow(`no verb "${verb}"`)
})

test.each([[['7']], [['7', '1']], [[7, 1]], [['7', null]], [['7', 1, 2]]])(
  'arguments of other types or of another number are rejected: %j',
  async args => {
    await expect(callVerb(storage, 'piece', args)).rejects.toThrow('takes (string, number)')
  },
)
