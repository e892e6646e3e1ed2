/**
 * The text of a PDF, by pdf.js. Runs in a process of its own (read.ts): what a stranger has uploaded may spin, swallow memory or
 * find a fault in the parser. A loop and too much memory are the process's to end; here are the bounds that a reader can keep itself.
 *
 * Nothing of a document is executed, fetched or drawn.
 */
import { getDocumentProxy } from 'unpdf'
import { mostText } from './plain.ts'

/** Of pages, and of those that could not be read before the others are not tried. */
const mostPages = 2000
const mostUnreadable = 20

export type ReadPdf =
  /** `whole`: nothing was left out. */
  | { text: string; pages: number; whole: boolean }
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

async function readPages(document: Document): Promise<ReadPdf> {
  const { numPages } = document
  let text = ''
  let unreadable = 0
  let problem: unknown
  const last = Math.min(numPages, mostPages)
  for (let number = 1; number <= last && text.length < mostText && unreadable < mostUnreadable; number++) {
    try {
      text += `${text === '' ? '' : '\n'}${await readPage(document, number, mostText - text.length)}`
    } catch (error) {
      unreadable++
      problem ??= error
    }
  }
  // A part of it would be taken for all there is.
  if (unreadable > 0 && text.trim() === '') return whyNot(problem)
  const whole = unreadable === 0 && numPages <= mostPages && text.length < mostText
  return { text: text.slice(0, mostText), pages: numPages, whole }
}

/** In pieces, so that a page without end is left once there is enough of it. */
async function readPage(document: Document, number: number, most: number): Promise<string> {
  const page = await document.getPage(number)
  const pieces = page.streamTextContent().getReader()
  let text = ''
  try {
    while (text.length < most) {
      const { done, value } = await pieces.read()
      if (done) break
      for (const item of value.items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
    }
  } finally {
    pieces.cancel(new Error('enough')).catch(() => {})
    page.cleanup()
  }
  return text
}

function whyNot(error: unknown): ReadPdf {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  if (name === 'PasswordException' || /encrypt/i.test(message)) return { trouble: 'pdf_encrypted' }
  return { trouble: 'pdf_corrupt', problem: message || name || 'unknown' }
}
