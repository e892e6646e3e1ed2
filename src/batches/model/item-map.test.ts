import { expect, test } from 'vitest'
import { sampleIds } from './item-map.ts'

test('samples lie evenly over the list, each inside of its range of ids', () => {
  const ranges = [
    { firstId: 101, lastId: 200, items: 100 },
    { firstId: 501, lastId: 600, items: 100 },
  ]
  expect(sampleIds(ranges, 4)).toEqual([
    { id: 126, last: 200 },
    { id: 176, last: 200 },
    { id: 526, last: 600 },
    { id: 576, last: 600 },
  ])
})

test('a range of one item has its item as the sample', () => {
  expect(sampleIds([{ firstId: 7, lastId: 7, items: 1 }], 3).map(each => each.id)).toEqual([7, 7, 7])
})
