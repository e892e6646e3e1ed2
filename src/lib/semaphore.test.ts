import { expect, test } from 'vitest'
import { Semaphore } from './semaphore.ts'

const never = new AbortController().signal

test('so many have their turn at once, and the others in the order they came', async () => {
  const semaphore = new Semaphore(2)
  const began: string[] = []
  const come = async (name: string) => {
    const end = await semaphore.take(never)
    began.push(name)
    return end!
  }
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(come)
  const endOfB = await b!
  await a
  expect(began).toEqual(['a', 'b'])
  endOfB()
  const endOfC = await c!
  expect(began).toEqual(['a', 'b', 'c'])
  endOfC()
  await d
  expect(began).toEqual(['a', 'b', 'c', 'd'])
})

test('who does not want to wait any longer has no turn, and keeps none from the others', async () => {
  const semaphore = new Semaphore(1)
  const end = await semaphore.take(never)
  const impatient = new AbortController()
  const left = semaphore.take(impatient.signal)
  const next = semaphore.take(never)
  impatient.abort()
  expect(await left).toBeUndefined()
  end!()
  expect(await next).toBeTypeOf('function')
  expect(await semaphore.take(impatient.signal)).toBeUndefined()
})
