/** PDFs read by pdf.js within limits, and the errors of other endings. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobContext, RetomaError } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownerLockedPdf } from '../test/locked.ts'
import { documentOf, goodPdf, latinText, streamOf, writePdf } from '../test/pdfs.ts'
import { headLength, type PdfParts, tailLength } from './excerpt.ts'
import { extractText } from './index.ts'
import { readPdf } from './pdf.ts'

const read = (pdf: Buffer) => readPdf(new Uint8Array(pdf))
const whole = { omitted: 0, leftOut: null, unreadable: [], unfinished: [], scans: [] }

test('the text of every page, in order, with its accents and lines', async () => {
  expect(await read(goodPdf(['Ação de cobrança (R$ 1.000,00)\nsegunda linha – “fim”', 'Página dois']))).toEqual({
    head: 'Ação de cobrança (R$ 1.000,00)\nsegunda linha – “fim”\nPágina dois',
    tail: null,
    ...whole,
    pages: 2,
  })
})

test('deflated pages, and those that only their owner may change, are read', async () => {
  const deflated = writePdf(documentOf([streamOf(latinText('comprimido'), { deflated: true })]))
  expect(await read(deflated)).toMatchObject({ head: 'comprimido' })
  expect(await read(ownerLockedPdf('aberto a todos'))).toMatchObject({ head: 'aberto a todos' })
})

test('of a long document the first pages and the last ones are read, and those between are named', async () => {
  const pages = Array.from({ length: 200 }, (_, n) => `página ${n + 1} ${'x'.repeat(3000)}`)
  const long = (await read(goodPdf(pages))) as PdfParts
  expect(long.head).toHaveLength(headLength)
  expect(long.tail).toHaveLength(tailLength)
  expect(long.head).toMatch(/^página 1\n/)
  expect(long.tail).toMatch(/página 200\n[x\n]+$/)
  const [from, to] = long.leftOut!
  expect(long.pages).toBe(200)
  expect([from, to]).toEqual([15, 197])
  expect(long.omitted).toBeGreaterThan(0)
  expect(long.omitted).toBeLessThan(7000)
  const reported = await endOf(goodPdf(''), async () => long)
  expect(reported).toMatchObject({
    pages: 200,
    text: expect.stringContaining('[… páginas 15 a 197 omitidas …]'),
    note: expect.stringMatching(
      /^Documento longo: as páginas 15 a 197, de 200, não foram lidas, nem \d\.\d{3} caracteres das páginas vizinhas\.$/,
    ),
  })
})

test('a page that is longer than all that is read has its real end, too', async () => {
  const long = await endOf(goodPdf(''), async () => await read(onePage(`começo ${'x'.repeat(300_000)} fim`)))
  expect(long).toMatchObject({
    text: expect.stringMatching(/^começo x+\s+\[… 25\d\.\d{3} caracteres omitidos …\]\s+[x\s]+fim\s*$/),
    note: expect.stringMatching(/^Documento longo: 25\d\.\d{3} caracteres do meio não foram lidos\.$/),
  })
})

/** A page with any number of lines. */
const onePage = (text: string) =>
  writePdf(documentOf([streamOf(latinText(text.match(/.{1,75}/g)!.join('\n')).replaceAll('T*', '0 -0.001 Td'))]))

test('a page that cannot be read is reported, and the others count', async () => {
  const objects = documentOf([latinText('primeira'), latinText('segunda')].map(each => streamOf(each)))
  objects[3] = '<< /Type /Pages /Kids 4 /Count 1 >>'
  const partly = await read(writePdf(objects))
  expect(partly).toMatchObject({ head: 'segunda', unreadable: [1] })
  expect(await endOf(goodPdf(''), async () => partly)).toMatchObject({ note: 'A página 1 não pôde ser lida.' })
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

test('how its process ended is reported as what is wrong with the document, for good', async () => {
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
  const scanned = { head: ' \n ', tail: null, ...whole, pages: 3 }
  expect(await endOf(goodPdf(''), async () => scanned)).toEqual({
    skip: 'PDF sem texto em 3 páginas, provavelmente digitalizado',
    ocr: null,
  })
})

test('zeros after the end make no difference', async () => {
  const padded = Buffer.concat([goodPdf('a'), Buffer.alloc(5000)])
  expect(await endOf(padded, async () => ({ head: 'a', tail: null, ...whole, pages: 1 }))).toMatchObject({ text: 'a' })
})

test('what was filled into a form is read with the name of its field, and so is text put on a page', async () => {
  const field = (rest: string) => `<< /Type /Annot /Subtype /Widget /Rect [0 0 9 9] ${rest} >>`
  const filled = [
    field('/FT /Tx /T (nome) /V (Jos\\351 da Silva)'),
    field('/FT /Tx /T (f2) /TU (CPF do autor) /V (123.456.789-00)'),
    field('/FT /Ch /T (estado) /Opt [(SP) (RJ)] /V (RJ)'),
    field('/FT /Btn /T (aceito) /V /Sim /AS /Sim'),
    field('/FT /Btn /T (recuso) /V /Off /AS /Off'),
    field('/FT /Tx /Ff 8192 /T (senha) /V (segredo)'),
    field('/FT /Tx /F 2 /T (oculto) /V (escondido)'),
    field('/FT /Tx /T (vazio) /V ()'),
    '<< /Type /Annot /Subtype /FreeText /Rect [0 0 9 9] /DA (/Helv 9 Tf) /Contents (Deferido) >>',
  ]
  const first = 6
  const refs = filled.map((_, n) => `${first + n} 0 R`).join(' ')
  const objects = documentOf([streamOf(latinText('Formulário'))], { page: `/Annots [${refs}]` })
  objects[0] = `<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [${refs}] >> >>`
  expect(await read(writePdf([...objects, ...filled]))).toMatchObject({
    head: 'Formulário\nDeferido\nnome: José da Silva\nCPF do autor: 123.456.789-00\nestado: RJ\naceito: Sim',
  })
})
