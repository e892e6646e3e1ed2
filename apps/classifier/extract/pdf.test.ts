/** PDFs read by pdf.js within limits, and the errors of other endings. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type JobContext, RetomaError } from 'retoma'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownerLockedPdf } from '../test/locked.ts'
import { documentOf, goodPdf, latinText, streamOf, writePdf } from '../test/pdfs.ts'
import { headLength, type PdfParts, tailLength } from './excerpt.ts'
import { type ExtractOptions, extractText, readBefore, type Saved } from './index.ts'
import { readPdf } from './pdf.ts'

const read = (pdf: Buffer) => readPdf(new Uint8Array(pdf))
const whole = { omitted: 0, chosen: null, leftOut: null, unreadable: [], unfinished: [], scans: [] }

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

test('of a document with a choice of pages only the chosen pages are read, and the remark says so', async () => {
  const pdf = goodPdf(['um', 'dois', 'três', 'quatro', 'cinco'])
  const chosen = await readPdf(new Uint8Array(pdf), { pages: '1-2,-1' })
  expect(chosen).toMatchObject({ head: 'um\ndois\ncinco', tail: null, pages: 5, chosen: [1, 2, 5], leftOut: null })
  expect(await endOf(pdf, async () => chosen)).toMatchObject({
    text: 'um\ndois\ncinco',
    note: 'Só as páginas 1 a 2 e 5, de 5, contam, pela escolha de páginas.',
  })
  expect(await endOf(pdf, async () => readPdf(new Uint8Array(pdf), { pages: '7' }), { pages: '7' })).toEqual({
    skip: 'nenhuma página da escolha "7" existe: o documento tem 5 páginas',
    ocr: null,
  })
})

/** Pages with an image over the whole page and the given text; `side`: of the image in pixels. */
function pagesWithImages(texts: readonly { text: string; side: number | null }[]): Buffer {
  const image = (side: number) =>
    streamOf(Buffer.alloc(Math.ceil(side / 8) * side), {
      deflated: true,
      dictionary: `/Type /XObject /Subtype /Image /Width ${side} /Height ${side} /ColorSpace /DeviceGray /BitsPerComponent 1`,
    })
  const contents = texts.map(({ text, side }) =>
    streamOf(`${side === null ? '' : 'q 595 0 0 842 0 0 cm /I Do Q '}${latinText(text)}`),
  )
  const objects = documentOf(contents)
  for (const [n, { side }] of texts.entries()) {
    if (side === null) continue
    objects.push(image(side))
    const page = String(objects[3 + 2 * n])
    objects[3 + 2 * n] = page.replace('/Resources <<', `/Resources << /XObject << /I ${objects.length} 0 R >>`)
  }
  return writePdf(objects)
}

test('a scan behind many pages with little text is found, and a page with an image of 600 dots per inch counts as a scan without decoding it', async () => {
  const sparse = Array.from({ length: 40 }, (_, n) => ({ text: `folha ${n + 1}`, side: null }))
  const scans = (pdf: Buffer) => readPdf(new Uint8Array(pdf), { findScans: true })
  expect(await scans(pagesWithImages([...sparse, { text: 'carimbo', side: 200 }]))).toMatchObject({ scans: [41] })
  const large = Array.from({ length: 30 }, () => ({ text: '', side: 4800 }))
  const began = process.cpuUsage()
  const stamped = [...large, { text: 'folha com o carimbo do tribunal e o número do processo', side: 4800 }]
  expect(await scans(pagesWithImages(stamped))).toMatchObject({ scans: stamped.map((_, n) => n + 1) })
  expect(process.cpuUsage(began).user / 1e6).toBeLessThan(20)
  // Most pages have no image: a page with some text is no scan only because another page has a large image.
  const letter = { text: 'uma carta com algumas palavras em uma página', side: null }
  expect(await scans(pagesWithImages([letter, { text: '', side: 200 }, letter, letter, letter]))).toMatchObject({
    scans: [2],
  })
})

test('pages left out are named also if the text of the end is empty', async () => {
  const parts = { head: 'a', tail: '', ...whole, pages: 3000, leftOut: [1601, 2600] as [number, number] }
  const found = { pages: [{ page: 1, text: 'por OCR', confidence: 0.9 }], left: [2], seconds: 1 }
  const steps = [{ ...parts, scans: [1, 2] }, found]
  const read = await endOf(goodPdf(''), async () => steps.shift(), { ocrPages: 1 })
  expect(read).toMatchObject({
    note: 'Documento longo: as páginas 1.601 a 2.600, de 3.000, não foram lidas. Texto lido por OCR em 1 página, com confiança de 90 %. A página 2 é digitalizada e não foi lida.',
  })
})

test('if OCR fails beside a text, the text counts, the remark names the pages, and OCR does not begin again', async () => {
  const parts = { head: 'um contrato', tail: null, ...whole, pages: 3, scans: [2, 3] }
  let asked = 0
  const isolated = async (step?: string) => {
    asked++
    if (step === 'ocr') throw new RetomaError('isolated_memory', { step: 'ocr', megabytes: 1024 })
    return parts
  }
  const read = await endOf(goodPdf(''), isolated, { ocrPages: 2 })
  const problem = 'a leitura do PDF passou de 1024 MB de memória'
  expect(read).toMatchObject({
    text: 'um contrato',
    note: `As páginas 2 e 3 são digitalizadas e não foram lidas: ${problem}.`,
    saved: { kind: 'pdf', ocrProblem: problem },
  })
  const again = await readBefore({ isolated } as unknown as JobContext, (read as { saved: Saved }).saved, {
    ocrPages: 2,
  })
  expect(again).toEqual(read)
  expect(asked).toBe(3)
  const bare = async (step?: string) => (step === 'ocr' ? isolated(step) : { ...parts, head: '' })
  await expect(endOf(goodPdf(''), bare, { ocrPages: 2 })).rejects.toMatchObject({ code: 'pdf_memory' })
})

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

async function endOf(bytes: Buffer, isolated: (step?: string) => Promise<unknown>, options: ExtractOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'retoma-pdf-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, 'a.pdf'), bytes)
  return extractText({ isolated } as unknown as JobContext, { path: join(folder, 'a.pdf'), name: 'a.pdf' }, options)
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
