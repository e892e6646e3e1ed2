/** Draws a page in a separate process: the module for `ctx.isolated(name, pdfPageModule, { path, sizes })`. */
import { readFile } from 'node:fs/promises'
import { drawPage, type PdfPage, type PdfPageInput } from './draw-page.ts'

// A document may contain addresses; the renderer must contact none.
globalThis.fetch = () => Promise.reject(new Error('a document asks nobody'))

export default async ({ path, sizes }: PdfPageInput): Promise<PdfPage> =>
  drawPage(new Uint8Array(await readFile(path)), sizes)
