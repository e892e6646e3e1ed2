import { expect, test } from 'vitest'
import { shareConnections } from './connection-share.ts'

test.each([
  // Enough for every process: the usual pool.
  [1000, 4, { connections: 10, most: 88 }],
  // Four fifths of 97 connections are 77: 19 for each of four processes, 9 for each of eight.
  [97, 4, { connections: 8, most: 72 }],
  [97, 8, { connections: 3, most: 64 }],
  // The least pool, beyond four fifths and within the limit.
  [97, 16, { connections: 2, most: 96 }],
  [12, 2, { connections: 2, most: 12 }],
])('%d connections for %d processes', (allowed, processes, share) => {
  expect(shareConnections(allowed, processes)).toEqual(share)
})

test('the connections of all processes never exceed what the database allows', () => {
  for (let allowed = 6; allowed <= 300; allowed++)
    for (let processes = 1; processes <= Math.floor(allowed / 6); processes++)
      expect(shareConnections(allowed, processes).most).toBeLessThanOrEqual(allowed)
})

test('more processes than the database has connections for are refused, with the number that fits', () => {
  expect(() => shareConnections(97, 17)).toThrow(
    expect.objectContaining({
      code: 'too_many_processes',
      facts: { processes: 17, needed: 102, allowed: 97, most: 16 },
    }),
  )
})
