/**
 * Reads the text of a PDF with pdf.js. Runs in a separate process (read.ts): an uploaded file may loop for ever, use too much memory or
 * trigger a bug in the parser. The process limits end a loop and bound the memory; this file has the limits that a reader can apply
 * itself.
 *
 * Nothing of a document is executed, fetched or drawn.
 */
import { imageArea } from '@retoma/pdf-page/image-area'
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf'
import { headLength, type PdfParts, partsOf, tailLength } from './excerpt.ts'
import { isScan, mostSparse } from './scan.ts'

/** Pages read from the first page on, and from the last page back. */
const mostHeadPages = 1600
const mostTailPages = 400
/** In each of the two directions: the number of unreadable pages after which reading stops. */
const mostUnreadable = 20
/** Pages whose images are measured, which takes 0.4 s for a scan: OCR reads at most 20. */
const mostMeasured = 25
/** Characters of a page: a longer page has no end, or no reader. */
const mostOfPage = 2_000_000

export type ReadPdf =
  | PdfParts
  | { trouble: 'pdf_encrypted' | 'pdf_without_pages' }
  | { trouble: 'pdf_corrupt'; problem: string }

type Document = Awaited<ReturnType<typeof getDocumentProxy>>

const quiet = {
  verbosity: 0,
  isEvalSupported: false,
  useSystemFonts: false,
  disableFontFace: true,
  useWorkerFetch: false,
  useWasm: false,
  isOffscreenCanvasSupported: false,
  enableXfa: false,
  disableAutoFetch: true,
  disableRange: true,
  disableStream: true,
}

/** `findScans`: the images of pages with little text are measured. */
export async function readPdf(bytes: Uint8Array, { findScans = false } = {}): Promise<ReadPdf> {
  // The dictionary of an image is never compressed. The reader takes the bytes, so they are searched first.
  const hasImages = findScans && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('/Image')
  let document: Document
  try {
    document = await getDocumentProxy(bytes, quiet)
  } catch (error) {
    return whyNot(error)
  }
  try {
    return document.numPages < 1 ? { trouble: 'pdf_without_pages' } : await readPages(document, hasImages)
  } finally {
    await document.destroy().catch(() => {})
  }
}

/** Reads from the first page on until there is enough text, then from the last page back; the pages between are left out. */
async function readPages(document: Document, hasImages: boolean): Promise<ReadPdf> {
  const { numPages: pages } = document
  const reader = new PageReader(document, hasImages)
  let next = 1
  let before = ''
  const headEnds = Math.min(pages, mostHeadPages)
  for (const patience = reader.patience(); next <= headEnds && before.length <= headLength && patience(); next++)
    before = lines(before, await reader.read(next))
  let last = pages
  let after = ''
  const tailEnds = Math.max(next - 1, pages - mostTailPages)
  for (const patience = reader.patience(); last > tailEnds && after.length < tailLength && patience(); last--)
    after = lines(await reader.read(last), after)

  const { unreadable, unfinished } = reader
  const scans = reader.scans.sort((one, other) => one - other)
  // Without any text a partly unreadable document is an error: the readable part would pass for the whole.
  if (unreadable.length > 0 && `${before}${after}`.trim() === '') return whyNot(reader.problem)
  const about = { pages, unreadable, unfinished, scans }
  if (last < next) return { ...partsOf(lines(before, after)), ...about, leftOut: null }
  const omitted = Math.max(before.length - headLength, 0) + Math.max(after.length - tailLength, 0)
  return { head: before.slice(0, headLength), tail: after.slice(-tailLength), omitted, ...about, leftOut: [next, last] }
}

const lines = (one: string, other: string): string => (one === '' || other === '' ? one + other : `${one}\n${other}`)

/** Reads pages, and remembers the unreadable pages, the unfinished pages and the scans. */
class PageReader {
  readonly #document: Document
  readonly #measures: boolean
  #measured = 0
  readonly unreadable: number[] = []
  readonly unfinished: number[] = []
  readonly scans: number[] = []
  /** The error of the first unreadable page. */
  problem: unknown

  constructor(document: Document, measures: boolean) {
    this.#document = document
    this.#measures = measures
  }

  /** Returns a function that is false after `mostUnreadable` more unreadable pages. */
  patience(): () => boolean {
    const most = this.unreadable.length + mostUnreadable
    return () => this.unreadable.length < most
  }

  async read(number: number): Promise<string> {
    try {
      const { text, isWhole } = await readPage(this.#document, number)
      if (!isWhole) this.unfinished.push(number)
      if (await this.#isScan(number, text)) this.scans.push(number)
      return text
    } catch (error) {
      this.unreadable.push(number)
      this.problem ??= error
      return ''
    }
  }

  async #isScan(number: number, text: string): Promise<boolean> {
    const characters = text.length > 10 * mostSparse ? mostSparse : text.replace(/\s/g, '').length
    if (!this.#measures || characters >= mostSparse || this.#measured >= mostMeasured) return false
    this.#measured++
    return isScan(characters, await imagesOf(this.#document, number))
  }
}

/** The part of the page that images cover; 0: the page has no images, or cannot be measured. */
async function imagesOf(document: Document, number: number): Promise<number> {
  const { OPS } = await getResolvedPDFJS()
  const page = await document.getPage(number)
  try {
    return imageArea(await page.getOperatorList(), page.getViewport({ scale: 1 }), OPS)
  } catch {
    return 0
  } finally {
    page.cleanup()
  }
}

/** Reads in pieces, so an endless page is left once there is enough text. */
async function readPage(document: Document, number: number): Promise<{ text: string; isWhole: boolean }> {
  const page = await document.getPage(number)
  const pieces = page.streamTextContent().getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await pieces.read()
      if (done) return { text: lines(text, await filledIn(page)), isWhole: true }
      for (const item of value.items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
      if (text.length >= mostOfPage) return { text: text.slice(0, mostOfPage), isWhole: false }
    }
  } finally {
    pieces.cancel(new Error('enough')).catch(() => {})
    page.cleanup()
  }
}

type Page = Awaited<ReturnType<Document['getPage']>>

const isHidden = 2
const mostFilledIn = 100_000

/**
 * Returns the input of a person: values of form fields, each behind the field name, and texts put on the page. pdf.js does not count
 * these as text of the page.
 */
async function filledIn(page: Page): Promise<string> {
  const written = new Set<string>()
  for (const each of await page.getAnnotations()) {
    const line = (each.annotationFlags & isHidden) === 0 ? filledInto(each) : ''
    if (line !== '') written.add(line)
  }
  return [...written].join('\n').slice(0, mostFilledIn)
}

// biome-ignore lint/suspicious/noExplicitAny: pdf.js declares annotations so
function filledInto(annotation: any): string {
  const { subtype, fieldType, fieldName, alternativeText, fieldValue, password, pushButton } = annotation
  if (subtype === 'FreeText') return textOf(annotation.contentsObj?.str)
  if (subtype !== 'Widget' || password || pushButton) return ''
  const values = (Array.isArray(fieldValue) ? fieldValue : [fieldValue]).map(textOf).filter(Boolean)
  if (values.length === 0 || (fieldType === 'Btn' && values[0] === 'Off')) return ''
  const name = textOf(alternativeText) || textOf(fieldName)
  return name === '' ? values.join(', ') : `${name}: ${values.join(', ')}`
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')

function whyNot(error: unknown): ReadPdf {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  if (name === 'PasswordException' || /encrypt/i.test(message)) return { trouble: 'pdf_encrypted' }
  return { trouble: 'pdf_corrupt', problem: message || name || 'unknown' }
}
