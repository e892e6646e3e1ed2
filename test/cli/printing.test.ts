/** Tables and times as a person sees them. */
import { expect, test } from 'vitest'
import { brief, fields, table } from '../../src/cli/table.ts'
import { relative } from '../../src/cli/times.ts'

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

test('times are told as a distance, in the language', () => {
  const now = new Date('2030-01-01T12:00:00Z')
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  expect(relative(now, now, 'en')).toBe('now')
  expect(relative(ago(5), now, 'en')).toBe('5 sec. ago')
  expect(relative(ago(-7300), now, 'en')).toBe('in 2 hr.')
  expect(relative(ago(200), now, 'pt')).toBe('há 3 min.')
  expect(relative(ago(100_000), now, 'pt')).toBe('há 1 dia')
})
