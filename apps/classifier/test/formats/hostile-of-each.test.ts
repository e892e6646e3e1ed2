/** A hostile file of each format, one that ends at once. hostile.test.ts and extract.test.ts read all of them (`npm run test:packages`). */
import { expect, test } from 'vitest'
import { hostilePdfs } from '../hostile.ts'
import { hostileFiles } from './hostile-files.ts'
import { expectHostileToEnd } from './read-hostile.ts'

const ofEach: readonly string[] = [
  'fluxo de xref com lixo.pdf',
  'bomba declarada.docx',
  'espaços.odt',
  'linhas demais.xlsx',
  'risadas.pptx',
  'bomba.spreadsheet.odf',
  'cortado.presentation.odf',
  'binário.csv',
  'sem fim.html',
  'risadas.xml',
  'bin.rtf',
  'charset.eml',
  'círculo.msg',
  'gigante.png',
  'cortada.jpg',
  'círculo.tif',
  'nada.webp',
  'nada.gif',
  'dentro.zip',
]

test('a hostile file of each format ends for good and says why, and the good ones beside it are read', async () => {
  const files = [...hostilePdfs(), ...hostileFiles()].filter(({ name }) => ofEach.includes(name))
  expect(files.map(({ name }) => name).sort()).toEqual([...ofEach].sort())
  await expectHostileToEnd(files, { good: 2 })
})
