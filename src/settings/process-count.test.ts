import { expect, test } from 'vitest'
import { coreCount } from '../lib/process/core-count.ts'
import { mostProcesses, parseProcesses } from './process-count.ts'

test('auto is one process for each core, and never more than the maximum', () => {
  expect(parseProcesses('auto')).toBe(Math.min(coreCount(), mostProcesses))
})

test.each<[string, number | undefined]>([
  ['1', 1],
  ['256', 256],
  ['007', 7],
  ['0', undefined],
  ['257', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['many', undefined],
  ['AUTO', undefined],
  ['', undefined],
])('%j is %s processes', (given, number) => {
  expect(parseProcesses(given)).toBe(number)
})
