import { expect, test } from 'vitest'
import { cursorOf, readCursor } from './event-cursor.ts'

test.each([
  { seq: 0, phase: null, stamp: null },
  { seq: 12, phase: '3.running', stamp: '1893499200000001' },
  { seq: 12, phase: '0.waiting', stamp: null },
  { seq: 12, phase: null, stamp: '10.2.0.0.0.0' },
  { seq: 12, phase: 'running', stamp: '10.2.0.0.0.0', half: true },
  { seq: 12, phase: null, stamp: null, half: true },
  { seq: Number.MAX_SAFE_INTEGER, phase: 'submitting', stamp: null },
])('a place comes back as it was: %o', place => {
  const text = cursorOf(place)
  expect(readCursor(text)).toEqual(place)
  expect(encodeURIComponent(text)).toBe(text)
})

test.each([
  '',
  ' 1',
  '-1',
  '1.5',
  '1~',
  '1~a',
  '1~a~b',
  '1~A~1',
  '1hh',
  'h',
  '9007199254740992',
  '99999999999999999',
  'x',
  1,
  null,
  {},
])('what is no place is none: %o', text => expect(readCursor(text)).toBeUndefined())
