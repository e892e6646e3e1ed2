import fc from 'fast-check'
import { expect, test } from 'vitest'
import { codeOfFile, createCodes } from './codigo.ts'

const all = (names: readonly string[]) => {
  const codeOf = createCodes()
  return names.map(name => codeOf(name))
}

test('the first with a name keeps it, the others get a number', () => {
  expect(all(['a.pdf', 'a.pdf', 'b.pdf', 'a.pdf'])).toEqual(['a.pdf', 'a.pdf (2)', 'b.pdf', 'a.pdf (3)'])
  expect(all(['a', 'a (2)', 'a', 'a'])).toEqual(['a', 'a (2)', 'a (3)', 'a (4)'])
})

test('the path inside a ZIP or a folder is kept, with its end if it is long', () => {
  expect(codeOfFile('contratos/2030/um.pdf')).toBe('contratos/2030/um.pdf')
  expect(codeOfFile('./a//b.pdf')).toBe('a/b.pdf')
  const long = codeOfFile(`${'pasta/'.repeat(30)}contrato.pdf`)
  expect(long).toHaveLength(100)
  expect(long).toMatch(/^….*\/pasta\/contrato\.pdf$/)
})

test('of a path on a machine, or out of its folder, only the name counts, and what cannot be seen is not in it', () => {
  expect(codeOfFile('C:\\fotos\\contrato.pdf')).toBe('contrato.pdf')
  expect(codeOfFile('../../etc/passwd')).toBe('passwd')
  expect(all(['  a\u0000\n b\u202e.pdf '])).toEqual(['a  b.pdf'])
  expect(all(['', '\n', '\ud800'])).toEqual(['documento', 'documento (2)', '\ufffd'])
})

test('a long name is cut before its number, and never through a character', () => {
  const [first, second] = all(['x'.repeat(150), 'x'.repeat(150)])
  expect(first).toBe('x'.repeat(100))
  expect(second).toBe(`${'x'.repeat(96)} (2)`)
  const [whole, next] = all([`${'x'.repeat(99)}😀`, `${'x'.repeat(99)}😀`])
  expect(whole).toBe('x'.repeat(99))
  expect(next).toBe(`${'x'.repeat(96)} (2)`)
})

test('whatever is sent, codes are unique, at most 100 characters, and well formed', () => {
  const name = fc.oneof(fc.constantFrom('a', 'a (2)', 'x'.repeat(120), '😀'.repeat(60)), fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), names => {
      const codes = all(names)
      const isFine = (code: string) => code.length <= 100 && code.isWellFormed() && code !== '' && code === code.trim()
      return new Set(codes).size === codes.length && codes.every(isFine)
    }),
    { numRuns: 50 },
  )
})

test('two thousand with one name take no time to speak of', () => {
  const codes = all(Array.from({ length: 2000 }, () => 'igual.pdf'))
  expect(codes.at(-1)).toBe('igual.pdf (2000)')
})
