import { expect, test } from 'vitest'
import { commonPart, fingerprintOf } from './error-fingerprint.ts'

const cause = (message: string, code: string | null = null, type = 'error') => fingerprintOf({ type, code, message })

test.each([
  ['timeout after 1500 ms', 'timeout after 20 ms'],
  ['no page 3 of 10', 'no page 11 of 12'],
  ['user 0b7b1c3e-8f0e-4a60-9a54-6a7d9a0f0001 is gone', 'user 6c1f7ad2-1b1f-4f2f-8a54-6a7d9a0f0002 is gone'],
  ['commit 3f2a9c1d not found', 'commit 77e0b1aa9c not found'],
  ['cannot read "Relatório.pdf"', `cannot read 'x y.pdf'`],
  ["ENOENT: no such file or directory, open '/srv/a/b.pdf'", "ENOENT: no such file or directory, open '/tmp/c d.pdf'"],
  ['open /srv/a/b.pdf failed', 'open /var/lib/x/y/z.txt failed'],
  ['GET https://a.example/x?id=1 answered 503', 'GET https://b.example/other answered 502'],
  ['at 2026-11-15T10:37:14.123Z it broke', 'at 2025-01-02T00:00:00Z it broke'],
  ['no  room\n here', 'no room here'],
])('%j and %j are one trouble', (one, other) => {
  expect(cause(one)).toBe(cause(other))
})

test.each([
  ['no money', 'no such page'],
  ['refused', 'refuse'],
])('%j and %j are two', (one, other) => {
  expect(cause(one)).not.toBe(cause(other))
})

test('what it was, and its code, are part of it', () => {
  expect(new Set([cause('no'), cause('no', 'E1'), cause('no', 'E2'), cause('no', null, 'timeout')]).size).toBe(4)
})

test('it is twelve hexadecimal digits that never change: they are stored, and asked for later', () => {
  expect(cause('timeout after 1500 ms', 'ETIMEDOUT')).toBe(cause('timeout after 3 ms', 'ETIMEDOUT'))
  expect(cause('timeout after 1500 ms', 'ETIMEDOUT')).toMatchInlineSnapshot(`"b2241e6e3c67"`)
  expect(commonPart('timeout after 1500 ms')).toBe('timeout after <n> ms')
})

test('a message of any length costs little', () => {
  const long = `bad ${'9'.repeat(1_000_000)}`
  expect(cause(long)).toMatch(/^[0-9a-f]{12}$/)
})
