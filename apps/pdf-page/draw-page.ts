/**
 * Draws the first page of a PDF, once for the largest size, and scales the picture down for the others. The pictures contain pixels alone, no
 * metadata of the document.
 */
import { type Canvas, createCanvas } from '@napi-rs/canvas'
import { type PdfTrouble, pixels, withPdf } from './pages.ts'

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

export type PdfPage = { pages: number; images: PageImage[] } | PdfTrouble

const [smallest, largest] = [16, 4096]
const quality = 80

export const drawPage = (bytes: Uint8Array, sizes: readonly number[]): Promise<PdfPage> =>
  withPdf(bytes, async pdf => {
    const wanted = sizes.map(size => Math.min(Math.max(Math.round(size), smallest), largest))
    const canvas = await pdf.draw(1, Math.max(...wanted))
    const images = wanted.map(size => pictureOf(canvas, size / Math.max(canvas.width, canvas.height)))
    return { pages: pdf.count, images }
  })

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
