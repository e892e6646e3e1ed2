/**
 * A few worlds of the simulation (docs/testing.md), and those in which something once broke. `npm run simulate` plays as many
 * others as there is time for.
 */
import { expect, test } from 'vitest'
import { simulate } from '../../simulate/world.ts'
import { migratedDatabase } from '../support/database.ts'

async function played(seed: number, steps: number) {
  const { url, drop } = await migratedDatabase()
  return simulate({ seed, steps, url }).finally(drop)
}

test.each([1, 2])('every invariant holds in the world of seed %i', async seed => {
  const { broken, ended } = await played(seed, 250)
  expect(broken).toEqual([])
  expect(ended.succeeded).toBeGreaterThan(2)
})
