/**
 * Opens a PDF with pdf.js for drawing. Nothing of a document is executed or fetched. The limits of the process end loops and bound the
 * memory; this file bounds the canvas and the images inside a page.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { getDocument, type PDFDocumentProxy, type PDFPageProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'

export type PdfTrouble =
  | { trouble: 'pdf_encrypted' }
  | { trouble: 'pdf_without_pages' }
  | { trouble: 'pdf_corrupt'; problem: string }

/** Pixels of an image inside the page; a larger image is left out. */
const largestImage = 40_000_000

const home = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'))
/** pdf.js appends the name of a file. */
const dataOf = (folder: string): string => `${join(home, folder)}/`

const quiet = () => ({
  verbosity: 0,
  isEvalSupported: false,
  useSystemFonts: false,
  disableFontFace: true,
  useWorkerFetch: false,
  isOffscreenCanvasSupported: false,
  enableXfa: false,
  disableAutoFetch: true,
  disableRange: true,
  disableStream: true,
  maxImageSize: largestImage,
  standardFontDataUrl: dataOf('standard_fonts'),
  cMapUrl: dataOf('cmaps'),
  cMapPacked: true,
  wasmUrl: dataOf('wasm'),
})

/** Opens the document for the time of `work`. A problem of the document, also while drawing, is a value with `trouble`. */
export async function withPdf<T>(bytes: Uint8Array, work: (pdf: PdfPages) => Promise<T>): Promise<T | PdfTrouble> {
  const loading = getDocument({ data: bytes, ...quiet() })
  try {
    const document = await loading.promise
    if (document.numPages < 1) return { trouble: 'pdf_without_pages' }
    return await work(new PdfPages(document))
  } catch (error) {
    return whyNot(error)
  } finally {
    await loading.destroy().catch(() => {})
  }
}

/** The eight bits of each pixel from black to white. */
export interface GreyPicture {
  width: number
  height: number
  grey: Uint8Array
}

/** The pages of an open document, from 1. */
export class PdfPages {
  readonly #document: PDFDocumentProxy

  constructor(document: PDFDocumentProxy) {
    this.#document = document
  }

  get count(): number {
    return this.#document.numPages
  }

  /** Draws with the longest side of `longest` pixels. */
  async draw(number: number, longest: number): Promise<Canvas> {
    const page = await this.#document.getPage(number)
    try {
      return await drawn(page, longest / longestSide(page))
    } finally {
      page.cleanup()
    }
  }

  /** Draws with `dpi` dots per inch, or fewer within `longest` pixels of the longest side. */
  async drawGrey(number: number, { dpi, longest }: { dpi: number; longest: number }): Promise<GreyPicture> {
    const page = await this.#document.getPage(number)
    try {
      return greyOf(await drawn(page, Math.min(dpi / pointsPerInch, longest / longestSide(page))))
    } finally {
      page.cleanup()
    }
  }
}

const pointsPerInch = 72

function longestSide(page: PDFPageProxy): number {
  const { width, height } = page.getViewport({ scale: 1 })
  const longest = Math.max(width, height)
  if (!(width > 0 && height > 0 && Number.isFinite(longest))) throw new Error(`the page is ${width} x ${height}`)
  return longest
}

async function drawn(page: PDFPageProxy, scale: number): Promise<Canvas> {
  const viewport = page.getViewport({ scale })
  const canvas = createCanvas(pixels(viewport.width), pixels(viewport.height))
  // pdf.js declares the canvas of a browser.
  const target = { canvas, canvasContext: canvas.getContext('2d') } as unknown as { canvas: null }
  await page.render({ ...target, viewport, background: '#ffffff' }).promise
  return canvas
}

export const pixels = (length: number): number => Math.max(1, Math.round(length))

function greyOf(canvas: Canvas): GreyPicture {
  const { width, height } = canvas
  const { data } = canvas.getContext('2d').getImageData(0, 0, width, height)
  const grey = new Uint8Array(width * height)
  // The weights of the eye, in parts of 256.
  for (let at = 0; at < grey.length; at++)
    grey[at] = (data[4 * at]! * 77 + data[4 * at + 1]! * 150 + data[4 * at + 2]! * 29) >> 8
  return { width, height, grey }
}

function whyNot(error: unknown): PdfTrouble {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  if (name === 'PasswordException' || /encrypt/i.test(message)) return { trouble: 'pdf_encrypted' }
  return { trouble: 'pdf_corrupt', problem: (message || name || 'unknown').slice(0, 300) }
}
