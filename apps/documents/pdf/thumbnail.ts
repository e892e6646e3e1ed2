/**
 * Draws the first page of a PDF as WebP, in a process that the engine kills, and stores the picture. A page that cannot be drawn has no
 * picture; the text of the PDF is read all the same.
 */
import { type PdfPage, pdfPageLimits, pdfPageModule } from '@retoma/pdf-page'
import { type Engine, isRetomaError, type JobContext, megabytes } from 'retoma'

/** Longest side, in pixels. */
const size = 480
const largest = megabytes(4)

/** Returns the id of the file, which belongs to nobody yet; null: there is no picture. */
export async function drawThumbnail(engine: Engine, ctx: JobContext, path: string): Promise<string | null> {
  const page = await drawn(ctx, path)
  const picture = page === null || 'trouble' in page ? undefined : page.images[0]
  if (picture === undefined) return null
  const about = { name: 'pagina-1.webp', type: 'image/webp', most: largest }
  return (await engine.files.put([picture.webp], about)).id
}

/** null: drawing took too long, too much memory, or ended the process. */
async function drawn(ctx: JobContext, path: string): Promise<PdfPage | null> {
  try {
    return await ctx.isolated<PdfPage>('thumbnail', pdfPageModule, { path, sizes: [size] }, pdfPageLimits)
  } catch (error) {
    const isOfThePage =
      isRetomaError(error, 'isolated_timeout') ||
      isRetomaError(error, 'isolated_memory') ||
      (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
    if (isOfThePage) return null
    throw error
  }
}
