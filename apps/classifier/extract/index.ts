/**
 * Extracts the text of a document: of plain text here, of every other format in a separate process, of scanned pages and images by OCR in a
 * background process. An unreadable document is an error that another attempt does not fix, with a sentence for the sender; a document
 * without text or without a reader is skipped.
 *
 * Invariant: the extraction ends within the time and memory limits for every file, and no file crashes the worker. The text is a step
 * ("text"), and so is the text by OCR ("ocr"): a document is not read twice.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { type Duration, isNonRetryable, isRetomaError, type JobContext, megabytes, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import {
  chosenNote,
  type Excerpt,
  excerptOf,
  headLength,
  ocrFailureNote,
  ocrNote,
  type Parts,
  type PdfParts,
  partsOf,
  tailLength,
} from './excerpt.ts'
import type { OcrInput, OcrRead } from './ocr.ts'
import { decode, decodeEnd, type Encoding, lengthIn, markOf, tidy } from './plain.ts'
import type { ReadFile, ReadInput, ReadKind } from './read-file.ts'
import { claimsToBePdf, type Ends, endsOf, isPdf, isWhole, type Kind, kindOf, knownAs, likenessOf } from './sniff.ts'
import { trouble } from './trouble.ts'

/** `path`: the file on this machine. `text`: the document was sent as text. */
export type Source = ({ path: string } | { text: string }) & { name: string; type?: string }

/** `pages`: the number of pages of a PDF. `saved`: the steps with the text, for `readBefore`; null: nothing is saved. */
export type Extracted = ((Excerpt & { pages: number | null; saved: Saved | null }) | { skip: string }) & {
  /** null: no OCR was needed or allowed. */
  ocr: OcrCost | null
}

/** A file with a text that steps have saved. */
export interface Saved {
  kind: Exclude<Kind, 'plain'>
  /** Why OCR failed beside the text, which counts without OCR; null: OCR did not fail. */
  ocrProblem: string | null
}

/** `confidence`: 0 to 1; null: no text was found. `seconds`: processor time. */
interface OcrCost {
  pages: number
  confidence: number | null
  seconds: number
}

export interface ExtractOptions {
  timeout?: Duration
  /** Pages of a document that OCR reads; 0: no OCR. Default 0. */
  ocrPages?: number
  /** The choice of pages of a PDF or a TIFF (page-selection.ts). Default: all. */
  pages?: string | null
}

/** An ordinary PDF takes 0.1 s, and 1,000 pages some seconds; a document has two minutes in all. */
const readWithin = seconds(30)
const memory = megabytes(512)
/** A page takes about 5 s; ocr.ts begins no page after 30 s. The largest picture and its copies take 600 MB. */
const ocrWithin = seconds(55)
const ocrMemory = megabytes(1024)

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const moduleOf = (name: string) =>
  new URL(import.meta.url.endsWith('.ts') ? `../dist/extract/${name}` : `./${name}`, import.meta.url)
const reader = moduleOf('read.js')
const ocrReader = moduleOf('ocr-isolated.js')

export async function extractText(ctx: JobContext, source: Source, options: ExtractOptions = {}): Promise<Extracted> {
  if ('text' in source) return readAs(partsOf(source.text))
  const { path, name, type = '' } = source
  const ends = await endsOf(path)
  if (ends.size === 0) return skipped('arquivo vazio')
  const kind = readableKind(ends, name, type)
  if (kind === undefined) return skipped(foreign(knownAs(ends)?.pt))
  if (kind === 'plain') return readPlain(path, ends.size)
  return readFile(ctx, path, kind, options)
}

/** The text saved by an earlier attempt; the file is not needed again. */
export const readBefore = (ctx: JobContext, saved: Saved, options: ExtractOptions = {}): Promise<Extracted> =>
  readFile(ctx, '', saved.kind, options, saved)

async function readFile(
  ctx: JobContext,
  path: string,
  kind: Saved['kind'],
  options: ExtractOptions,
  before?: Saved,
): Promise<Extracted> {
  const { timeout = readWithin, ocrPages: most = 0, pages = null } = options
  if (kind === 'image') {
    if (most === 0) return skipped('imagem, e o OCR está desligado no projeto')
    return ofImage(await ocrAway(ctx, kind, { path, scans: null, most, pages }), pages)
  }
  const read = await readAway(ctx, { path, kind, findScans: most > 0, pages }, timeout)
  if ('noPageOf' in read) return skipped(noPage(read.noPageOf, pages))
  // A document with a long text needs no more.
  const hasScans = 'scans' in read && (read.tail ?? '').trim() === '' && read.scans.length > 0
  if (!hasScans) return whatCameOf(kind, read, null)
  const ocr = before?.ocrProblem ?? (await ocrBeside(ctx, kind, { path, scans: read.scans, most }, hasText(read)))
  return whatCameOf(kind, read, ocr)
}

/** Without a text the failure of OCR is the failure of the document. Beside a text the failure is a remark: the text counts. */
async function ocrBeside(
  ctx: JobContext,
  kind: Kind,
  input: OcrInput,
  besideText: boolean,
): Promise<OcrPages | string> {
  try {
    const read = await ocrAway(ctx, kind, input)
    return 'pages' in read ? read : 'o OCR não leu nenhuma página'
  } catch (error) {
    if (!besideText || !isNonRetryable(error)) throw error
    return (error as Error).message
  }
}

const noPage = (pages: number, selection: string | null): string =>
  `nenhuma página da escolha "${selection}" existe: o documento tem ${pages === 1 ? '1 página' : `${pages.toLocaleString('pt-BR')} páginas`}`

const skipped = (skip: string, ocr: OcrCost | null = null): Extracted => ({ skip, ocr })

function readableKind(ends: Ends, name: string, type: string): Kind | undefined {
  const claimed = claimsToBePdf(name, type)
  if (isPdf(ends, claimed)) {
    if (!isWhole(ends)) throw trouble(errors.pdf_truncated, {})
    return 'pdf'
  }
  if (claimed) throw trouble(errors.not_a_pdf, { likeness: likenessOf(ends) })
  return kindOf(ends, name, type)
}

const readable = 'PDF, Word, planilha, e-mail, HTML, XML, imagem ou texto'

const foreign = (why: string | undefined): string =>
  `tipo de arquivo que não é lido${why === undefined ? '' : ` (${why})`}: envie ${readable}`

/** A crash of the child counts against the document, unless a SIGKILL from outside ended the child. */
async function readAway(ctx: JobContext, input: ReadInput, timeout: Duration): Promise<ReadFile> {
  try {
    return await ctx.isolated<ReadFile>('text', reader, input, { timeout, memory, maxBytes: megabytes(2) })
  } catch (error) {
    throw endOf(error, input.kind, { timeout, memory })
  }
}

function endOf(error: unknown, kind: Kind, { timeout, memory: most }: { timeout: Duration; memory: number }): unknown {
  const ofPdf = kind === 'pdf'
  if (isRetomaError(error, 'isolated_timeout'))
    return trouble(ofPdf ? errors.pdf_timeout : errors.file_timeout, { seconds: timeout / 1000 }, error)
  if (isRetomaError(error, 'isolated_memory'))
    return trouble(ofPdf ? errors.pdf_memory : errors.file_memory, { megabytes: most / megabytes(1) }, error)
  if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
    return trouble(ofPdf ? errors.pdf_crash : errors.file_crash, { how: error.facts.how! }, error)
  // The document is not the cause: an ordinary failure, with another attempt.
  if (isRetomaError(error, 'isolated_crash') || isRetomaError(error, 'child_not_started')) return failed(error)
  if (isRetomaError(error, 'isolated_starved')) return failed(error)
  return error
}

type OcrPages = Extract<OcrRead, { pages: unknown }>

/** The process has a low priority, and the other documents do not wait for it. */
async function ocrAway(ctx: JobContext, kind: Kind, input: OcrInput): Promise<OcrRead> {
  const limits = { timeout: ocrWithin, memory: ocrMemory }
  try {
    return await ctx.isolated<OcrRead>('ocr', ocrReader, input, {
      ...limits,
      maxBytes: megabytes(2),
      background: true,
      nice: 10,
    })
  } catch (error) {
    throw endOf(error, kind, limits)
  }
}

function ofImage(read: OcrRead, pages: string | null): Extracted {
  if ('noPageOf' in read) return skipped(noPage(read.noPageOf, pages))
  if ('trouble' in read) {
    if (read.trouble === 'image_too_large') throw trouble(errors.image_too_large, { megapixels: read.megapixels })
    return skipped(`imagem que não pôde ser lida: ${read.problem}`)
  }
  const ocr = costOf(read)
  const parts = partsOf(textOf(read))
  if (!hasText(parts)) return skipped('imagem em que o OCR não encontrou texto', ocr)
  const { text, note } = excerptOf(parts)
  const chosen = read.tiff === undefined ? '' : chosenNote(read.tiff)
  const notes = [chosen, note, ocrNote(ocr, read.left)].filter(Boolean).join(' ')
  return { text, note: notes, pages: null, saved: { kind: 'image', ocrProblem: null }, ocr }
}

/** `recognised`: the text by OCR, or why OCR failed; null: no OCR was needed. */
function whatCameOf(
  kind: ReadKind,
  read: Exclude<ReadFile, { noPageOf: number }>,
  recognised: OcrPages | string | null,
): Extracted {
  if ('foreign' in read) return skipped(foreign(read.foreign))
  if ('trouble' in read) throw troubleOf(read)
  const pages = 'pages' in read ? read.pages : null
  const found = recognised === null || typeof recognised === 'string' ? null : recognised
  const ocrProblem = typeof recognised === 'string' ? recognised : null
  const ocr = found === null || found.pages.length === 0 ? null : costOf(found)
  const parts = found === null ? read : { ...read, ...partsOf(joined(read.head, found)) }
  if (!hasText(parts)) return skipped(pages === null ? 'documento sem texto' : withoutText(pages, ocr !== null), ocr)
  const { text, note } = excerptOf(parts)
  const notes = [note]
  if (ocr !== null) notes.push(ocrNote(ocr, found!.left))
  else if (found !== null && found.left.length > 0)
    notes.push(ocrFailureNote(found.left, 'o OCR não conseguiu desenhar a página'))
  if (ocrProblem !== null && 'scans' in read) notes.push(ocrFailureNote(read.scans, ocrProblem))
  return { text, note: notes.filter(Boolean).join(' ') || null, pages, saved: { kind, ocrProblem }, ocr }
}

/** The text of the pages, then the text by OCR with its page. */
function joined(text: string, { pages }: OcrPages): string {
  if (text.trim() === '') return pages.map(each => each.text).join('\n\n')
  const found = pages.filter(each => each.text !== '').map(each => `[página ${each.page}, por OCR]\n${each.text}`)
  return [text, ...found].join('\n\n')
}

const textOf = ({ pages }: OcrPages): string => pages.map(({ text }) => text).join('\n\n')

/** A longer text counts more in the mean confidence. */
function costOf({ pages, seconds: spent }: OcrPages): OcrCost {
  const letters = pages.reduce((sum, { text }) => sum + text.length, 0)
  const sum = pages.reduce((total, { text, confidence }) => total + text.length * confidence, 0)
  return {
    pages: pages.length,
    confidence: letters === 0 ? null : Math.round((sum / letters) * 1e4) / 1e4,
    seconds: spent,
  }
}

const withoutText = (pages: number, isRecognised: boolean): string =>
  `PDF sem texto em ${pages === 1 ? '1 página' : `${pages.toLocaleString('pt-BR')} páginas`}, ${isRecognised ? 'e o OCR não encontrou nenhum' : 'provavelmente digitalizado'}`

function troubleOf(read: Extract<ReadFile, { trouble: string }>): Error {
  switch (read.trouble) {
    case 'pdf_corrupt':
      return trouble(errors.pdf_corrupt, { problem: read.problem })
    case 'file_bomb':
      return trouble(errors.file_bomb, { megabytes: read.megabytes, most: read.most })
    case 'file_beyond_limits':
      return trouble(errors.file_beyond_limits, { problem: { en: read.en, pt: read.pt } })
    default:
      return trouble(errors[read.trouble], {})
  }
}

const hasText = ({ head, tail }: Parts | PdfParts): boolean => head.trim() !== '' || (tail ?? '').trim() !== ''

/** A file up to this size is read whole; of a larger file only the two ends are read, and the characters between are counted. */
const mostWhole = 1024 * 1024
/** The largest number of bytes for the number of characters. */
const headBytes = headLength * 4
const tailBytes = tailLength * 4

async function readPlain(path: string, size: number): Promise<Extracted> {
  const file = await open(path)
  try {
    const bytes = await readPart(file, 0, size <= mostWhole ? size : headBytes)
    const decoded = decode(bytes, size > bytes.length)
    if ('binary' in decoded) throw trouble(errors.text_binary, {})
    const text = tidy(decoded.text)
    return readAs(size > bytes.length ? await endsOfFile(file, size, bytes, { ...decoded, text }) : partsOf(text))
  } finally {
    await file.close()
  }
}

/** `first`: the first bytes of the file; `text`: the text of `first`. */
async function endsOfFile(
  file: FileHandle,
  size: number,
  first: Uint8Array,
  { text, encoding }: { text: string; encoding: Encoding },
): Promise<Parts> {
  // Keeps pairs of bytes together for UTF-16: an odd byte at the end is no character.
  const from = size - tailBytes - (size % 2)
  const head = text.slice(0, headLength)
  const tail = tidy(decodeEnd(await readPart(file, from, size - from), encoding)).slice(-tailLength)
  let length = lengthIn(first, encoding) - (markOf(first) === undefined ? 0 : 1)
  for (let at = first.length; at < size; at += mostWhole)
    length += lengthIn(await readPart(file, at, Math.min(mostWhole, size - at)), encoding)
  return { head, tail, omitted: Math.max(Math.floor(length) - head.length - tail.length, 0) }
}

async function readPart(file: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
  return buffer.subarray(0, bytesRead)
}

const readAs = (parts: Parts): Extracted =>
  hasText(parts) ? { ...excerptOf(parts), pages: null, saved: null, ocr: null } : skipped('documento sem texto')
