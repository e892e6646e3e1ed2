import { expect, test } from 'vitest'
import { type AttemptStorage, callStorageMethod } from './attempt-storage-calls.ts'

const storage = {
  piece: async (id: string, n: number) => `${id} ${n}`,
  transact: async () => 'never by name',
} as unknown as AttemptStorage

test('a method is called with the arguments of the child', async () => {
  expect(await callStorageMethod(storage, 'piece', ['7', 1])).toBe('7 1')
})

test.each(['transact', 'constructor', '__proto__', 'toString', 'drop'])(
  '"%s" is no method of a child',
  async method => {
    await expect(callStorageMethod(storage, method, [])).rejects.toThrow(`no method "${method}"`)
  },
)

test.each([[['7']], [['7', '1']], [[7, 1]], [['7', null]], [['7', 1, 2]]])(
  'arguments of other types or of another number are rejected: %j',
  async args => {
    await expect(callStorageMethod(storage, 'piece', args)).rejects.toThrow('takes (string, number)')
  },
)
