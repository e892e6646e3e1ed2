/** The note about a document that was not read whole. */
import { expect, test } from 'vitest'
import { excerptOf, headLength, type PdfParts, partsOf, tailLength } from './excerpt.ts'

const pdf: PdfParts = {
  head: 'a',
  tail: null,
  omitted: 0,
  pages: 3000,
  leftOut: null,
  chosen: null,
  unreadable: [],
  unfinished: [],
  scans: [],
}

test('of a short text nothing is left out, of a long one its middle', () => {
  expect(excerptOf(partsOf('curto'))).toEqual({ text: 'curto', note: null })
  expect(excerptOf(partsOf('a'.repeat(headLength + tailLength))).note).toBe(null)
  expect(excerptOf(partsOf('a'.repeat(headLength + tailLength + 1)))).toEqual({
    text: expect.stringContaining('[… 1 caractere omitido …]'),
    note: 'Documento longo: 1 caractere do meio não foi lido.',
  })
})

test('a cut through the middle of a letter leaves none broken', () => {
  expect(excerptOf(partsOf(`a${'😀'.repeat(50_000)}`)).text.isWellFormed()).toBe(true)
})

test.each([
  [{}, null],
  [{ tail: 'z', leftOut: [1601, 2600] }, 'Documento longo: as páginas 1.601 a 2.600, de 3.000, não foram lidas.'],
  [
    { tail: 'z', leftOut: [7, 7], omitted: 1 },
    'Documento longo: a página 7, de 3.000, não foi lida, nem 1 caractere das páginas vizinhas.',
  ],
  [{ tail: 'z', omitted: 1234 }, 'Documento longo: 1.234 caracteres do meio não foram lidos.'],
  [{ unreadable: [9] }, 'A página 9 não pôde ser lida.'],
  [{ unreadable: [9, 7, 12] }, 'As páginas 7, 9 e 12 não puderam ser lidas.'],
  [
    { unreadable: Array.from({ length: 13 }, (_, n) => n + 1) },
    'As páginas 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 e mais 3 não puderam ser lidas.',
  ],
  [{ unfinished: [2] }, 'A página 2 é longa demais e não foi lida até o fim.'],
  [
    { tail: 'z', leftOut: [3, 8], unreadable: [2, 9] },
    'Documento longo: as páginas 3 a 8, de 3.000, não foram lidas. As páginas 2 e 9 não puderam ser lidas.',
  ],
] as [Partial<PdfParts>, string | null][])('%o is reported as it is: %s', (given, note) => {
  expect(excerptOf({ ...pdf, ...given }).note).toBe(note)
})
