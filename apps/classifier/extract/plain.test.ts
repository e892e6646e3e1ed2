/** Text files of Brazil: of any editor and any decade. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobContext } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { headLength, tailLength } from './excerpt.ts'
import { extractText } from './index.ts'
import { decode } from './plain.ts'

const sentence = 'Petição inicial: ação de cobrança, São Paulo, às 10h – “não”'
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')

test.each([
  ['UTF-8', Buffer.from(sentence)],
  ['UTF-8 with its mark', Buffer.from(`\ufeff${sentence}`)],
  ['UTF-16, little end first', utf16(sentence)],
  ['UTF-16, big end first', utf16(sentence).swap16()],
  ['Windows-1252', Buffer.from(sentence.replace('–', '\x96').replace('“', '\x93').replace('”', '\x94'), 'latin1')],
])('%s is read with its accents', (_, bytes) => {
  expect(decode(bytes)).toMatchObject({ text: sentence })
})

test('a half character at the end of what was read does not make it another encoding', () => {
  expect(decode(Buffer.from('açã').subarray(0, -1), true)).toMatchObject({ text: 'aç' })
})

test.each([
  ['zeros', Buffer.from([0x41, 0, 0, 0x42])],
  ['characters that are none', Buffer.from('\x01\x02\x03\x04abc', 'latin1')],
])('%s: it is no text', (_, bytes) => {
  expect(decode(bytes)).toEqual({ binary: true })
})

/** Plain text is no step, and needs no OCR. */
const unsaved = { saved: null, ocr: null }

/** Plain text needs no separate process. */
const nowhere = {} as JobContext

async function fileOf(bytes: Buffer | string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-plain-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'a'), bytes)
  return join(folder, 'a')
}

const extracted = async (bytes: Buffer | string, name = 'a.txt') =>
  extractText(nowhere, { path: await fileOf(bytes), name })

test('a text file is its text; one without any is skipped, and one that is binary is an error for good', async () => {
  expect(await extracted('a')).toEqual({ text: 'a', pages: null, note: null, ...unsaved })
  expect(await extracted('')).toEqual({ skip: 'arquivo vazio', ocr: null })
  expect(await extracted(' \n\t ')).toEqual({ skip: 'documento sem texto', ocr: null })
  await expect(extracted(Buffer.from([1, 0, 2]))).rejects.toMatchObject({ code: 'text_binary' })
})

test('a text that speaks of PDFs is a text, and a PDF without its name is one', async () => {
  expect(await extracted('o arquivo começa com %PDF-1.7')).toMatchObject({ note: null })
  await expect(extracted('%PDF-1.7\n')).rejects.toMatchObject({ code: 'pdf_truncated' })
})

test('what was sent as text is bounded as well', async () => {
  const of = (text: string) => extractText(nowhere, { text, name: 'a' })
  expect(await of('olá')).toEqual({ text: 'olá', pages: null, note: null, ...unsaved })
  expect(await of('  ')).toEqual({ skip: 'documento sem texto', ocr: null })
  expect(await of(`${'a'.repeat(headLength)}bc${'d'.repeat(tailLength)}`)).toMatchObject({
    text: `${'a'.repeat(headLength)}\n\n[… 2 caracteres omitidos …]\n\n${'d'.repeat(tailLength)}`,
  })
})

const kept = headLength + tailLength
// The byte order mark is no part of the text.
const written: [string, (text: string) => Buffer][] = [
  ['UTF-8', text => Buffer.from(text)],
  ['UTF-8 with its mark', text => Buffer.from(`\ufeff${text}`)],
  ['UTF-16, little end first', utf16],
  ['UTF-16, big end first', text => utf16(text).swap16()],
  ['Windows-1252', text => Buffer.from(text, 'latin1')],
]
test.each(
  written.flatMap(([name, bytesOf]) => [100_000, 250_000, 3_000_001].map(length => [name, length, bytesOf] as const)),
)(
  'of a long file in %s, %i characters, the real beginning and the real end are read, and all between is counted',
  async (_, length, bytesOf) => {
    const middle = length - 14
    const long = await extracted(bytesOf(`início ${'ã'.repeat(middle)} é o fim`.slice(0, length + 1)))
    const left = length + 1 - kept
    expect(long).toEqual({
      text: expect.stringMatching(
        new RegExp(`^início ã+\\n\\n\\[… ${left.toLocaleString('pt-BR')} caracteres omitidos …\\]\\n\\nã+ é o fim$`),
      ),
      pages: null,
      note: `Documento longo: ${left.toLocaleString('pt-BR')} caracteres do meio não foram lidos.`,
      ...unsaved,
    })
  },
)

test('an end that is no UTF-8, though the beginning is, and half characters at the cut, are read', async () => {
  const mixed = Buffer.concat([Buffer.from('a'.repeat(1_100_000)), Buffer.from('ação', 'latin1')])
  expect((await extracted(mixed)) as { text: string }).toMatchObject({ text: expect.stringMatching(/aação$/) })
  for (const before of ['', 'a', 'aa', 'aaa']) {
    const read = await extracted(`${before}${'😀'.repeat(400_000)}`)
    expect(read).toMatchObject({
      note: `Documento longo: ${(800_000 + before.length - kept).toLocaleString('pt-BR')} caracteres do meio não foram lidos.`,
      ...unsaved,
    })
    expect((read as { text: string }).text.isWellFormed()).toBe(true)
  }
})

test('what is kept is what PostgreSQL keeps', async () => {
  expect(
    await extractText(nowhere, { path: await fileOf('uma linha e um sino\u0007, \u001b[0m'), name: 'a.txt' }),
  ).toMatchObject({
    text: 'uma linha e um sino ,  [0m',
  })
})
