/**
 * Reads the text of a PDF with pdf.js. Runs in a separate process (read.ts): an uploaded file may loop for ever, use too much memory or
 * trigger a bug in the parser. The process limits end a loop and bound the memory; this file has the limits that a reader can apply
 * itself.
 *
 * Nothing of a document is executed, fetched or drawn.
 */
import { imageArea } from '@retoma/pdf-page/image-area'
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf'
import { chosenPages } from '../page-selection.ts'
import { headLength, type PdfParts, partsOf, tailLength } from './excerpt.ts'
import { isScan, mostSparse, nearlyNone } from './scan.ts'

/** Pages read from the first page on, and from the last page back. */
const mostHeadPages = 1600
const mostTailPages = 400
/** In each of the two directions: the number of unreadable pages after which reading stops. */
const mostUnreadable = 20
/** Seconds of processor time for the images of all pages: a scan takes 0.4 s, and the whole reading has 30 s. */
const mostMeasuring = 8
/** Pixels of a decoded image: A4 with 300 dots per inch has 9 million, and one with 600 takes 1 s and 150 MB. */
const largestMeasured = 12_000_000
/** Characters of a page: a longer page has no end, or no reader. */
const mostOfPage = 2_000_000

export type ReadPdf =
  | PdfParts
  /** None of the chosen pages exists. */
  | { noPageOf: number }
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
  maxImageSize: largestMeasured,
}

interface PdfOptions {
  /** The images of pages with little text are measured. Default false. */
  findScans?: boolean
  /** The choice of pages (page-selection.ts). Default: all. */
  pages?: string | null
}

export async function readPdf(
  bytes: Uint8Array,
  { findScans = false, pages = null }: PdfOptions = {},
): Promise<ReadPdf> {
  // The dictionary of an image is never compressed. The reader takes the bytes, so they are searched first.
  const images = findScans ? imagesIn(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) : none
  let document: Document
  try {
    document = await getDocumentProxy(bytes, quiet)
  } catch (error) {
    return whyNot(error)
  }
  try {
    return document.numPages < 1 ? { trouble: 'pdf_without_pages' } : await readPages(document, images, pages)
  } finally {
    await document.destroy().catch(() => {})
  }
}

interface Images {
  any: boolean
  /** An image is too large to be decoded, so that a page with the image looks like a page without images. */
  huge: boolean
}

const none: Images = { any: false, huge: false }
const mostDictionaries = 20_000

/** Looks for the dictionaries of images. */
function imagesIn(bytes: Buffer): Images {
  let huge = false
  let at = bytes.indexOf('/Image')
  if (at < 0) return none
  for (let n = 0; at >= 0 && n < mostDictionaries && !huge; n++) {
    const around = bytes.subarray(Math.max(at - 500, 0), at + 500).toString('latin1')
    const [width, height] = ['Width', 'Height'].map(side =>
      Number(new RegExp(`/${side}\\s{0,9}(\\d{1,9})`).exec(around)?.[1]),
    )
    huge = width! * height! > largestMeasured
    at = bytes.indexOf('/Image', at + 1)
  }
  return { any: true, huge }
}

/** Reads from the first chosen page on until there is enough text, then from the last page back; the pages between are left out. */
async function readPages(document: Document, images: Images, selection: string | null): Promise<ReadPdf> {
  const { numPages: pages } = document
  const numbers = chosenPages(selection, pages)
  if (numbers.length === 0) return { noPageOf: pages }
  const reader = new PageReader(document, images)
  let next = 0
  let before = ''
  const headEnds = Math.min(numbers.length, mostHeadPages)
  for (const hasTime = reader.hasTime(); next < headEnds && before.length <= headLength && hasTime(); next++)
    before = lines(before, await reader.read(numbers[next]!))
  let last = numbers.length - 1
  let after = ''
  const tailEnds = Math.max(next - 1, numbers.length - 1 - mostTailPages)
  for (const hasTime = reader.hasTime(); last > tailEnds && after.length < tailLength && hasTime(); last--)
    after = lines(await reader.read(numbers[last]!), after)

  const { unreadable, unfinished } = reader
  const scans = reader.scans()
  // Without any text a partly unreadable document is an error: the readable part would pass for the whole.
  if (unreadable.length > 0 && `${before}${after}`.trim() === '') return whyNot(reader.problem)
  const about = { pages, chosen: selection === null ? null : numbers, unreadable, unfinished, scans }
  if (last < next) return { ...partsOf(lines(before, after)), ...about, leftOut: null }
  const omitted = Math.max(before.length - headLength, 0) + Math.max(after.length - tailLength, 0)
  const leftOut: [number, number] = [numbers[next]!, numbers[last]!]
  return { head: before.slice(0, headLength), tail: after.slice(-tailLength), omitted, ...about, leftOut }
}

const lines = (one: string, other: string): string => (one === '' || other === '' ? one + other : `${one}\n${other}`)

/** Reads pages, and remembers the unreadable pages, the unfinished pages and the scans. */
class PageReader {
  readonly #document: Document
  readonly #images: Images
  /** Seconds of processor time for measuring. */
  #spent = 0
  #measured = 0
  readonly #scans: number[] = []
  /** Pages with little text and unknown images, and the characters of each. */
  readonly #unknown: { page: number; characters: number }[] = []
  readonly unreadable: number[] = []
  readonly unfinished: number[] = []
  /** The error of the first unreadable page. */
  problem: unknown

  constructor(document: Document, images: Images) {
    this.#document = document
    this.#images = images
  }

  /** A page with unknown images counts as a scan if the page has nearly no text, or if most of the known pages are scans. */
  scans(): number[] {
    const mostAreScans = 2 * this.#scans.length >= this.#measured
    const likely = this.#unknown.filter(({ characters }) => mostAreScans || characters < nearlyNone)
    return [...this.#scans, ...likely.map(({ page }) => page)].sort((one, other) => one - other)
  }

  /** Returns a function that is false after `mostUnreadable` more unreadable pages. */
  hasTime(): () => boolean {
    const most = this.unreadable.length + mostUnreadable
    return () => this.unreadable.length < most
  }

  async read(number: number): Promise<string> {
    try {
      const { text, isWhole } = await readPage(this.#document, number)
      if (!isWhole) this.unfinished.push(number)
      await this.#measure(number, text)
      return text
    } catch (error) {
      this.unreadable.push(number)
      this.problem ??= error
      return ''
    }
  }

  async #measure(page: number, text: string): Promise<void> {
    const characters = text.length > 10 * mostSparse ? mostSparse : text.replace(/\s/g, '').length
    if (!this.#images.any || characters >= mostSparse) return
    if (this.#spent > mostMeasuring) return void this.#unknown.push({ page, characters })
    const began = process.cpuUsage()
    const area = await imagesOf(this.#document, page)
    const { user, system } = process.cpuUsage(began)
    this.#spent += (user + system) / 1e6
    if (isScan(characters, area)) this.#scans.push(page)
    else if (this.#images.huge && area === 0) return void this.#unknown.push({ page, characters })
    this.#measured++
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
