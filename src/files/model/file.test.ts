import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkFileOptions, cleanFileName } from './file.ts'

const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
  fc
    .array(fc.constantFrom('/', '\\', '.', ' ', '\u0301', 'e', '\u202e', '\ud83d', '\u2000', '.pdf'), {
      maxLength: 300,
    })
    .map(each => each.join('')),
)

test('a name that was cleaned is clean, and may be kept', () => {
  fc.assert(
    fc.property(texts, text => {
      const name = cleanFileName(text)
      expect(cleanFileName(name)).toBe(name)
      expect(name).not.toMatch(/[/\\\p{Cc}\p{Cf}]/u)
      if (name !== '') expect(checkFileOptions({ name, type: 'a/b' })).toMatchObject({ name })
    }),
    { seed: 7, numRuns: 2000 },
  )
})

test('a long name keeps its ending', () => {
  expect(cleanFileName(`${'é'.repeat(300)}.pdf`)).toBe(`${'é'.repeat(251)}.pdf`)
  expect(cleanFileName(`${'😀'.repeat(200)}.pdf`)).toMatch(/^(?:😀)+\.pdf$/u)
})
