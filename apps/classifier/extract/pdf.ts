/**
 * The text of a PDF, by pdf.js. Runs in a process of its own (read.ts): what a stranger has uploaded may spin, swallow memory or
 * find a fault in the parser. A loop and too much memory are the process's to end; here are the bounds that a reader can keep itself.
 *
 * Nothing of a document is executed, fetched or drawn.
 */
import { getDocumentProxy } from 'unpdf'
import { headLength, type PdfParts, partsOf, tailLength } from './excerpt.ts'

/** Pages that are read from the first one on, and from the last one back. */
const mostHeadPages = 1600
const mostTailPages = 400
/** In each of the two: pages that could not be read before the others are not tried. */
const mostUnreadable = 20
/** Characters of one page: what is longer has no end, or nobody who reads it. */
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

export async function readPdf(bytes: Uint8Array): Promise<ReadPdf> {
  let document: Document
  try {
    document = await getDocumentProxy(bytes, quiet)
  } catch (error) {
    return whyNot(error)
  }
  try {
    return document.numPages < 1 ? { trouble: 'pdf_without_pages' } : await readPages(document)
  } finally {
    await document.destroy().catch(() => {})
  }
}

/** From the first page on until there is enough, then from the last one back; what lies between is left out. */
async function readPages(document: Document): Promise<ReadPdf> {
  const { numPages: pages } = document
  const reader = new PageReader(document)
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
  // A part of it would be taken for all there is.
  if (unreadable.length > 0 && `${before}${after}`.trim() === '') return whyNot(reader.problem)
  const about = { pages, unreadable, unfinished }
  if (last < next) return { ...partsOf(lines(before, after)), ...about, leftOut: null }
  const omitted = Math.max(before.length - headLength, 0) + Math.max(after.length - tailLength, 0)
  return { head: before.slice(0, headLength), tail: after.slice(-tailLength), omitted, ...about, leftOut: [next, last] }
}

const lines = (one: string, other: string): string => (one === '' || other === '' ? one + other : `${one}\n${other}`)

/** Reads pages, and remembers those that it could not, or not to their end. */
class PageReader {
  readonly #document: Document
  readonly unreadable: number[] = []
  readonly unfinished: number[] = []
  /** Of the first that could not be read. */
  problem: unknown

  constructor(document: Document) {
    this.#document = document
  }

  /** Whether it is worth to go on, from here. */
  patience(): () => boolean {
    const most = this.unreadable.length + mostUnreadable
    return () => this.unreadable.length < most
  }

  async read(number: number): Promise<string> {
    try {
      const { text, isWhole } = await readPage(this.#document, number)
      if (!isWhole) this.unfinished.push(number)
      return text
    } catch (error) {
      this.unreadable.push(number)
      this.problem ??= error
      return ''
    }
  }
}

/** In pieces, so that a page without end is left once there is enough of it. */
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

/** What a person has filled in: values of form fields, each behind its name, and texts put on the page. They are no part of its text. */
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
