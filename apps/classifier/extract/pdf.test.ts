/** What pdf.js makes of PDFs, bounded; and what is said of those that end otherwise. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobContext, RetomaError } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownerLockedPdf } from '../test/locked.ts'
import { documentOf, goodPdf, latinText, streamOf, writePdf } from '../test/pdfs.ts'
import { extractText } from './index.ts'
import { readPdf } from './pdf.ts'
import { mostText } from './plain.ts'

const read = (pdf: Buffer) => readPdf(new Uint8Array(pdf))

test('the text of every page, in order, with its accents and lines', async () => {
  expect(await read(goodPdf(['Ação de cobrança (R$ 1.000,00)\nsegunda linha – “fim”', 'Página dois']))).toEqual({
    text: 'Ação de cobrança (R$ 1.000,00)\nsegunda linha – “fim”\nPágina dois',
    pages: 2,
    whole: true,
  })
})

test('deflated pages, and those that only their owner may change, are read', async () => {
  const deflated = writePdf(documentOf([streamOf(latinText('comprimido'), { deflated: true })]))
  expect(await read(deflated)).toMatchObject({ text: 'comprimido' })
  expect(await read(ownerLockedPdf('aberto a todos'))).toMatchObject({ text: 'aberto a todos' })
})

test('a long document is read until there is enough of it, and says so', async () => {
  const long = await read(goodPdf('x'.repeat(mostText + 50_000)))
  expect(long).toMatchObject({ pages: 67, whole: false })
  expect((long as { text: string }).text).toHaveLength(mostText)
})

test('a page that cannot be read is told, and the others count', async () => {
  const objects = documentOf([latinText('primeira'), latinText('segunda')].map(each => streamOf(each)))
  objects[3] = '<< /Type /Pages /Kids 4 /Count 1 >>'
  expect(await read(writePdf(objects))).toMatchObject({ text: 'segunda', whole: false })
  objects[5] = objects[3]
  expect(await read(writePdf(objects))).toMatchObject({ trouble: 'pdf_corrupt' })
})

test('nothing is said on stdout or stderr, whatever it holds', async () => {
  const said = [vi.spyOn(console, 'log'), vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')]
  await read(goodPdf('a').subarray(0, 300))
  for (const each of said) expect(each).not.toHaveBeenCalled()
})

async function endOf(bytes: Buffer, isolated: () => Promise<unknown>) {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-pdf-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'a.pdf'), bytes)
  return extractText({ isolated } as unknown as JobContext, { path: join(folder, 'a.pdf'), name: 'a.pdf' })
}

const dies = (error: Error) => endOf(goodPdf('a'), () => Promise.reject(error))
const how = { en: 'x', pt: 'SIGSEGV' }

test('how its process ended is told as what is wrong with the document, for good', async () => {
  await expect(dies(new RetomaError('isolated_timeout', { step: 'text', seconds: 30 }))).rejects.toMatchObject({
    code: 'pdf_timeout',
    message: 'o PDF não pôde ser lido em 30 s',
  })
  await expect(dies(new RetomaError('isolated_memory', { step: 'text', megabytes: 512 }))).rejects.toMatchObject({
    code: 'pdf_memory',
    message: 'a leitura do PDF passou de 512 MB de memória',
  })
  await expect(dies(new RetomaError('isolated_crash', { step: 'text', how }))).rejects.toMatchObject({
    code: 'pdf_crash',
    message: 'a leitura do PDF derrubou o processo que o lia: SIGSEGV',
  })
})

test('a process that somebody killed, or that could not be started, says nothing of the document', async () => {
  const killed = { step: 'text', how, signal: 'SIGKILL' }
  await expect(dies(new RetomaError('isolated_crash', killed))).rejects.toMatchObject({
    code: 'isolated_crash',
    message: 'o processo da etapa "text" morreu: SIGSEGV',
  })
  const full = { place: 'process', problem: 'EMFILE' }
  await expect(dies(new RetomaError('child_not_started', full))).rejects.toMatchObject({ code: 'child_not_started' })
})

test('a PDF without a text is skipped, and says how many pages had none', async () => {
  const scanned = { text: ' \n ', pages: 3, whole: true }
  expect(await endOf(goodPdf(''), async () => scanned)).toEqual({
    skip: 'PDF sem texto em 3 páginas, provavelmente digitalizado',
  })
})

test('zeros after the end make no difference', async () => {
  const padded = Buffer.concat([goodPdf('a'), Buffer.alloc(5000)])
  expect(await endOf(padded, async () => ({ text: 'a', pages: 1, whole: true }))).toMatchObject({ text: 'a' })
})
