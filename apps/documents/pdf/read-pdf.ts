/**
 * Reads the pages, the text and the title of a PDF with pdf.js. Runs in a separate process (read.ts): an uploaded file may loop for ever,
 * use too much memory or trigger a bug in the parser. The process limits end a loop and bound the memory; this file has the limits that a
 * reader can apply itself.
 *
 * Nothing of a document is executed or fetched: scripts, attached files and links stay where they are.
 */
import { getDocumentProxy } from 'unpdf'

/** Characters of the text that is kept. */
const mostText = 1_000_000
const mostTitle = 300
/** Pages whose text is read; all pages are counted. */
const mostPages = 2000
/** The number of unreadable pages after which reading stops. */
const mostUnreadable = 20

export type ReadPdf =
  | {
      pages: number
      text: string
      /** false: text is missing, because a page is unreadable or there is too much text. */
      isComplete: boolean
      /** Of the properties of the PDF; '': none. */
      title: string
    }
  | { trouble: 'document_encrypted' | 'document_without_pages' }
  | { trouble: 'document_damaged'; problem: string }

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
    return document.numPages < 1 ? { trouble: 'document_without_pages' } : await readPages(document)
  } finally {
    await document.destroy().catch(() => {})
  }
}

async function readPages(document: Document): Promise<ReadPdf> {
  const { numPages: pages } = document
  let text = ''
  let unreadable = 0
  let problem: unknown
  let number = 1
  for (; number <= Math.min(pages, mostPages) && text.length < mostText && unreadable < mostUnreadable; number++) {
    try {
      text = lines(text, await readPage(document, number, mostText - text.length))
    } catch (error) {
      unreadable++
      problem ??= error
    }
  }
  // Every page is unreadable, so the document is.
  if (unreadable > 0 && unreadable === number - 1) return whyNot(problem)
  const isComplete = unreadable === 0 && number > pages && text.length < mostText
  return { pages, text: text.slice(0, mostText), isComplete, title: await titleOf(document) }
}

const lines = (one: string, other: string): string => (one === '' || other === '' ? one + other : `${one}\n${other}`)

/** Reads in pieces, so an endless page is left once there is enough text. */
async function readPage(document: Document, number: number, most: number): Promise<string> {
  const page = await document.getPage(number)
  const pieces = page.streamTextContent().getReader()
  let text = ''
  try {
    for (;;) {
      const { done, value } = await pieces.read()
      if (done) return text
      for (const item of value.items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
      if (text.length >= most) return text.slice(0, most)
    }
  } finally {
    pieces.cancel(new Error('enough')).catch(() => {})
    page.cleanup()
  }
}

async function titleOf(document: Document): Promise<string> {
  try {
    const { info } = await document.getMetadata()
    const title = (info as { Title?: unknown } | null)?.Title
    return typeof title === 'string' ? title.slice(0, mostTitle) : ''
  } catch {
    return ''
  }
}

function whyNot(error: unknown): ReadPdf {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  if (name === 'PasswordException' || /encrypt/i.test(message)) return { trouble: 'document_encrypted' }
  return { trouble: 'document_damaged', problem: (message || name || 'unknown').slice(0, 300) }
}
