import { expect, it } from 'vitest'
import { afterAccepting, connectionAccepted } from './loop-turns.ts'

const turn = () => new Promise<void>(resolve => setImmediate(resolve))

it('a request waits for nothing while no connection arrives', () => {
  expect(afterAccepting()).toBeUndefined()
})

it('a request waits for as long as each turn of the loop accepts a connection', async () => {
  let accepts = 20
  let isOver = false
  const accept = () => {
    if (accepts-- === 0) return
    connectionAccepted()
    setImmediate(accept)
  }
  accept()
  const over = afterAccepting()!.then(() => {
    isOver = true
  })
  while (accepts > 0) {
    expect(isOver).toBe(false)
    await turn()
  }
  await over
  expect(afterAccepting()).toBeUndefined()
})

it('a flood of connections without an end delays a request by a bounded number of turns', async () => {
  let isFlooding = true
  const flood = () => {
    if (!isFlooding) return
    connectionAccepted()
    setImmediate(flood)
  }
  flood()
  await afterAccepting()
  isFlooding = false
})
