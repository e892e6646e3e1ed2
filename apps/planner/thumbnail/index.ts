/**
 * Makes the thumbnails of an upload: of an image with sharp, of the first page of a PDF with pdf.js; each as WebP in two sizes. A process with
 * limits reads the file.
 *
 * Invariant: the job ends within its limits for every file, and no file crashes the worker. The pictures contain pixels alone: no EXIF, no
 * place, no name of a camera.
 */
import { type PdfPage, pdfPageLimits, pdfPageModule } from '@retoma/pdf-page'
import { type Engine, type JobContext, megabytes, RetomaError, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { failed } from '../failed.ts'
import type { Upload } from '../jobs.ts'
import { readAway } from '../read-away.ts'
import { startOf } from '../sniff.ts'
import type { ReadImage } from './image.ts'

export const sizes = { small: 256, large: 1024 } as const
export type ThumbnailSize = keyof typeof sizes

export interface Thumbnails {
  /** Of the upload: the type, the pixels of an image, the pages of a PDF. */
  source: { type: string; width: number | null; height: number | null; pages: number | null }
  thumbnails: Record<ThumbnailSize, { file: string; width: number; height: number; bytes: number; type: 'image/webp' }>
}

interface Picture {
  width: number
  height: number
  webp: Uint8Array
}

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const reader = new URL(import.meta.url.endsWith('.ts') ? '../dist/thumbnail/image.js' : './image.js', import.meta.url)
const imageLimits = { timeout: seconds(20), memory: megabytes(512), maxBytes: megabytes(8) }

export async function generateThumbnail(ctx: JobContext, engine: Engine, upload: Upload): Promise<Thumbnails> {
  const path = await ctx.files.path(upload.file)
  if (path === null) throw failed(new RetomaError(errors.planner_file_gone, {}))
  const wanted = Object.values(sizes)
  const { type, isPdf } = await startOf(path)
  if (type === 'empty') throw failed(new RetomaError(errors.planner_file_empty, {}))
  const { source, pictures } = isPdf
    ? pdfOf(await readAway<PdfPage>(ctx, 'page', pdfPageModule, { path, sizes: wanted }, pdfPageLimits))
    : imageOf(await readAway<ReadImage>(ctx, 'image', reader, { path, sizes: wanted }, imageLimits), upload.name)
  const stored = await Promise.all(
    (Object.keys(sizes) as ThumbnailSize[]).map(async (size, index) => {
      const { width, height, webp } = pictures[index]!
      const name = `${size}.webp`
      // A file without an owner is removed after a day: a worker that dies before `keep` leaves nothing behind.
      const { id } = await engine.files.put([webp], { name, type: 'image/webp' })
      return [size, { file: id, width, height, bytes: webp.length, type: 'image/webp' }] as const
    }),
  )
  const made = { source, thumbnails: Object.fromEntries(stored) as Thumbnails['thumbnails'] }
  // The result comes from the step: in a later attempt the step is saved, and only the files that the step has kept have an owner.
  return ctx.transaction('keep', async tx => {
    await engine.files.keep(
      stored.map(([, { file }]) => file),
      { job: ctx.id, tx },
    )
    return made
  })
}

type Made = { source: Thumbnails['source']; pictures: Picture[] }

function pdfOf(page: PdfPage): Made {
  if (!('trouble' in page))
    return { source: { type: 'application/pdf', width: null, height: null, pages: page.pages }, pictures: page.images }
  switch (page.trouble) {
    case 'pdf_encrypted':
      throw failed(new RetomaError(errors.thumbnail_pdf_encrypted, {}))
    case 'pdf_without_pages':
      throw failed(new RetomaError(errors.thumbnail_pdf_without_pages, {}))
    case 'pdf_corrupt':
      throw failed(new RetomaError(errors.planner_file_corrupt, { problem: page.problem }))
  }
}

/** `name`: the name of the file. */
function imageOf(read: ReadImage, name: string): Made {
  if ('pictures' in read) {
    const { type, width, height, pictures } = read
    return { source: { type, width, height, pages: null }, pictures }
  }
  if (read.trouble === 'too_large') {
    const { width, height, most } = read
    throw failed(new RetomaError(errors.thumbnail_image_too_large, { width, height, most: most / 1_000_000 }))
  }
  if (read.trouble === 'not_an_image' || read.trouble === 'heic') {
    const likeness =
      read.trouble === 'heic'
        ? { en: 'it is a HEIC photo', pt: 'é uma foto HEIC' }
        : { en: 'it is no image that is known', pt: 'não é uma imagem conhecida' }
    const wanted = { en: 'JPEG, PNG, WebP, GIF, AVIF, TIFF or PDF', pt: 'JPEG, PNG, WebP, GIF, AVIF, TIFF ou PDF' }
    throw failed(new RetomaError(errors.planner_file_type, { name, likeness, wanted }))
  }
  throw failed(new RetomaError(errors.planner_file_corrupt, { problem: read.problem }))
}
