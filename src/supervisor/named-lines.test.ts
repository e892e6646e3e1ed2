import { expect, test } from 'vitest'
import { nameLines } from './named-lines.ts'

function named(...chunks: string[]): string[] {
  const written: string[] = []
  const lines = nameLines(2, text => void written.push(text.toString()))
  for (const chunk of chunks) lines.add(Buffer.from(chunk))
  lines.end()
  return written
}

test.each([
  ['a line of text', ['hello\n'], ['[2] hello\n']],
  ['a JSON object', ['{"level":"info","msg":"x"}\n'], ['{"process":2,"level":"info","msg":"x"}\n']],
  ['what only begins as an object', ['{"a": 1\n'], ['[2] {"a": 1\n']],
  ['an empty object', ['{}\n'], ['[2] {}\n']],
  ['several lines at once', ['a\n\nb\n'], ['[2] a\n[2] \n[2] b\n']],
  ['a line in parts, passed on when it is complete', ['a', 'b', 'c\nd'], ['[2] abc\n', '[2] d\n']],
  ['a letter cut in two', ['\u00e7'], ['[2] \u00e7\n']],
])('%s', (_, chunks, lines) => {
  expect(named(...chunks)).toEqual(lines)
})

test('a line without an end does not fill the memory: its parts are passed on, named once', () => {
  const [first, ...rest] = named('x'.repeat(70_000), 'y', 'z\nnext\n')
  expect(first).toBe(`[2] ${'x'.repeat(70_000)}`)
  expect(rest.join('')).toBe('yz\n[2] next\n')
})
