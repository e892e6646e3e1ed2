import { expect, test } from 'vitest'
import { printable } from '../output.ts'
import { table } from './text-table.ts'

test('a cell with control characters stays in its row, and steers nothing', () => {
  const lines = table(
    ['id', 'ref'],
    [
      ['1', 'a\nb\u001b[2J\u202ec\tz\r'],
      ['2', 'plain'],
    ],
  )
  expect(lines).toHaveLength(3)
  expect(lines.join('')).not.toMatch(/[\p{Cc}\u202e]/u)
  expect(lines[1]).toContain('a\\nb\\x1b[2J\\u202ec\\tz\\r')
})

test('a printed text keeps its line breaks, and writes out what steers a terminal or turns text around', () => {
  expect(printable('a\n\tb\u001b[0m\u0007\u009b\u202e\u2066')).toBe('a\n\tb\\x1b[0m\\x07\\x9b\\u202e\\u2066')
})
