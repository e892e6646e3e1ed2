import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import type { Attempt } from '../execution/attempt.ts'
import { Slots } from './slots.ts'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

test('a worker that is never out of work does not keep the attempts it has run', async () => {
  const slots = new Slots('busy', 1)
  const add = () => slots.add({ claimedAt: 0 } as Attempt, 10)
  add()
  const ran: WeakRef<Attempt>[] = []
  for (let i = 0; i < 10_000; i++) {
    add()
    ran.push(new WeakRef(slots.take()!))
    slots.ended('quick', 1)
  }
  // A WeakRef keeps its target until the current turn of the loop is over.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  expect(ran.filter(each => each.deref() !== undefined).length).toBeLessThan(2000)
})

test('while a place rests nothing is claimed ahead, however quick the jobs were', () => {
  const slots = new Slots('q', 5)
  for (let i = 0; i < 100; i++) {
    slots.add({ claimedAt: 0 } as Attempt, 10)
    slots.take()
    slots.ended('quick', 0.1)
  }
  expect(slots.want()).toBeGreaterThan(100)
  slots.add({ claimedAt: 0 } as Attempt, 10)
  slots.take()
  slots.rest()
  expect(slots.free).toBe(4)
  expect(slots.want()).toBe(4)
  slots.rested()
  expect(slots.free).toBe(5)
  expect(slots.want()).toBeGreaterThan(100)
})
