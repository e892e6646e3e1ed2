/** Tables and times as a person sees them. */
import { expect, test } from 'vitest'
import { ago, relative } from '../../src/cli/format/relative-time.ts'
import { brief, fields, table, wrap } from '../../src/cli/format/text-table.ts'
import { spanText } from '../../src/lib/values/format-duration.ts'

test('columns are aligned, numbers to the right, and a column with nothing in it is left out', () => {
  expect(
    table(
      ['fila', 'prontos', 'vazia', 'nota'],
      [
        ['padrão', 7, '', 'x'],
        ['b', 12, '', ''],
      ],
    ),
  ).toEqual(['fila    prontos  nota', 'padrão        7  x', 'b            12'])
})

test('a number in words of a language is to the right as well, and a line is no longer than may be', () => {
  const rows = [
    ['a', { right: '1.004' }, 'a long text'],
    ['b', { right: '' }, ''],
    ['c', { right: '7' }, 'short'],
  ]
  expect(table(['x', 'n', 'text'], rows, { fit: 14 })).toEqual([
    'x      n  text',
    'a  1.004  a l…',
    'b',
    'c      7  sho…',
  ])
})

test('a text is broken between words, and a no-break space keeps two together', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
  expect(wrap('one 2\u00a0two three', 7)).toEqual(['one', '2 two', 'three'])
  expect(wrap('a muchlongerword b', 5)).toEqual(['a', 'muchlongerword', 'b'])
})

test('a value of several lines goes on below itself', () => {
  expect(
    fields([
      ['a', '1'],
      ['long', 'x\ny'],
    ]),
  ).toEqual(['a     1', 'long  x', '      y'])
})

test('a long or many-lined text is cut to one short line', () => {
  expect(brief('short')).toBe('short')
  expect(brief('one\ntwo')).toBe('one…')
  expect(brief('x'.repeat(70))).toHaveLength(60)
})

test('times are shown as a distance, in the language', () => {
  const now = new Date('2030-01-01T12:00:00Z')
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  expect(relative(now, now, 'en')).toBe('now')
  expect(relative(ago(5), now, 'en')).toBe('5 sec. ago')
  expect(relative(ago(-7300), now, 'en')).toBe('in 2 hr.')
  expect(relative(ago(200), now, 'pt')).toBe('há 3 min.')
  expect(relative(ago(100_000), now, 'pt')).toBe('há 1 dia')
})

test('what has happened is never in the future, whatever the clock of the database says', () => {
  const now = new Date('2030-01-01T12:00:00Z')
  expect(ago(new Date('2030-01-01T12:00:09Z'), now, 'en')).toBe('now')
  expect(ago(new Date('2030-01-01T11:59:55Z'), now, 'pt')).toBe('há 5 seg.')
})

test.each([
  [0, '0 s'],
  [59.6, '1 min'],
  [200, '3 min 20 s'],
  [7500, '2 h 5 min'],
  [7205, '2 h'],
  [273_600, '3 d 4 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(spanText(seconds)).toBe(text)
  expect(spanText(seconds, 1)).toBe(text.split(' ').slice(0, 2).join(' '))
})
