/**
 * Draws the first page of a PDF with pdf.js on a canvas, once for the largest size, and scales the picture down for the others.
 *
 * Nothing of a document is executed or fetched. The limits of the process (index.ts) end loops and bound the memory; this file bounds the
 * canvas and the images inside the page. The pictures contain pixels alone, no metadata of the document.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { getDocument, type PDFDocumentProxy } from 'pdfjs-dist/legacy/build/pdf.mjs'

export interface PdfPageInput {
  /** The file on this machine. */
  path: string
  /** The longest side of each picture in pixels, 16 to 4096. */
  sizes: readonly number[]
}

export interface PageImage {
  width: number
  height: number
  webp: Uint8Array
}

export type PdfPage =
  | { pages: number; images: PageImage[] }
  | { trouble: 'pdf_encrypted' }
  | { trouble: 'pdf_without_pages' }
  | { trouble: 'pdf_corrupt'; problem: string }

const [smallest, largest] = [16, 4096]
/** Pixels of an image inside the page; a larger image is left out. */
const largestImage = 40_000_000
const quality = 80

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

export async function drawPage(bytes: Uint8Array, sizes: readonly number[]): Promise<PdfPage> {
  const loading = getDocument({ data: bytes, ...quiet() })
  try {
    const document = await loading.promise
    if (document.numPages < 1) return { trouble: 'pdf_without_pages' }
    return { pages: document.numPages, images: await drawFirst(document, sizes) }
  } catch (error) {
    return whyNot(error)
  } finally {
    await loading.destroy().catch(() => {})
  }
}

async function drawFirst(document: PDFDocumentProxy, sizes: readonly number[]): Promise<PageImage[]> {
  const page = await document.getPage(1)
  const { width, height } = page.getViewport({ scale: 1 })
  const longest = Math.max(width, height)
  if (!(width > 0 && height > 0 && Number.isFinite(longest))) throw new Error(`the page is ${width} x ${height}`)
  const wanted = sizes.map(size => Math.min(Math.max(Math.round(size), smallest), largest))
  const viewport = page.getViewport({ scale: Math.max(...wanted) / longest })
  const canvas = createCanvas(pixels(viewport.width), pixels(viewport.height))
  // pdf.js declares the canvas of a browser.
  const drawn = { canvas, canvasContext: canvas.getContext('2d') } as unknown as { canvas: null }
  await page.render({ ...drawn, viewport, background: '#ffffff' }).promise
  return wanted.map(size => pictureOf(canvas, size / Math.max(canvas.width, canvas.height)))
}

const pixels = (length: number): number => Math.max(1, Math.round(length))

function pictureOf(whole: Canvas, scale: number): PageImage {
  const [width, height] = [pixels(whole.width * scale), pixels(whole.height * scale)]
  if (width === whole.width && height === whole.height)
    return { width, height, webp: whole.toBuffer('image/webp', quality) }
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  context.imageSmoothingQuality = 'high'
  context.drawImage(whole, 0, 0, width, height)
  return { width, height, webp: canvas.toBuffer('image/webp', quality) }
}

function whyNot(error: unknown): PdfPage {
  const { name = '', message = '' } = (error ?? {}) as Partial<Error>
  if (name === 'PasswordException' || /encrypt/i.test(message)) return { trouble: 'pdf_encrypted' }
  return { trouble: 'pdf_corrupt', problem: (message || name || 'unknown').slice(0, 300) }
}
