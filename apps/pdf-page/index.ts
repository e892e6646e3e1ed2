/**
 * Draws the first page of a PDF as WebP. A PDF is hostile input, so a child process draws the page (draw-isolated.ts); a handler calls
 * `ctx.isolated(name, pdfPageModule, { path, sizes }, pdfPageLimits)`. The systems in apps/ share this package.
 *
 * Invariant: a problem of the document is a value with `trouble`. The errors of `ctx.isolated` (`isolated_timeout`, `isolated_memory`,
 * `isolated_crash`) are problems of the document too, unless the signal SIGKILL came from outside.
 */
import { megabytes, seconds } from 'retoma'

export type { PageImage, PdfPage, PdfPageInput } from './draw-page.ts'

/** The module for `ctx.isolated`. Tests run the TypeScript source, which Node 20 cannot load in a child: the child then runs the build. */
export const pdfPageModule = new URL(
  import.meta.url.endsWith('.ts') ? './dist/draw-isolated.js' : './draw-isolated.js',
  import.meta.url,
)

/**
 * An ordinary page takes 0.3 s with the start of the process, and the two pictures some hundred kilobytes. Requests to a server on the
 * same machine come first.
 */
export const pdfPageLimits = { timeout: seconds(20), memory: megabytes(512), maxBytes: megabytes(8), nice: 10 }
