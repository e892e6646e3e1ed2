/**
 * Analyses the image of a snap in a separate process, within limits, and turns every end of the process into facts or into an error with a
 * sentence for the sender.
 *
 * Invariant: the analysis of any file ends within the limits, and no file ends the worker. The facts are a step ("image"): a later attempt
 * does not decode again.
 */
import { isRetomaError, type JobContext, megabytes, seconds } from 'retoma'
import { errors } from '../errors.ts'
import { failed, refused } from '../failed.ts'
import type { Analysed, ImageFacts } from './analyse.ts'
import { mostPixels } from './most-pixels.ts'

/** Bytes of an uploaded file; more is 413. */
export const largestFile = megabytes(25)

/** An ordinary photo takes 0.05 s and 120 MB. */
export const decodeLimits = { timeout: seconds(20), memory: megabytes(768), maxBytes: megabytes(1) }

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const decoder = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/image/decode-isolated.js' : './decode-isolated.js',
  import.meta.url,
)

export type Limits = typeof decodeLimits

export async function readImage(ctx: JobContext, path: string, limits: Limits = decodeLimits): Promise<ImageFacts> {
  const analysed = await decode(ctx, path, limits)
  if ('facts' in analysed) return analysed.facts
  switch (analysed.trouble) {
    case 'not_an_image':
      throw refused(errors.not_an_image, {})
    case 'too_many_pixels': {
      const { width, height } = analysed
      throw refused(errors.too_many_pixels, { width, height, megapixels: mostPixels / 1_000_000 })
    }
    case 'corrupt_image':
      throw refused(errors.corrupt_image, { problem: analysed.problem })
    case 'polyglot_image':
      throw refused(errors.polyglot_image, { kind: analysed.kind })
  }
}

/** A crash of the process is the image's fault, unless a SIGKILL from outside ended the process. */
async function decode(ctx: JobContext, path: string, limits: Limits): Promise<Analysed> {
  try {
    return await ctx.isolated<Analysed>('image', decoder, { path }, limits)
  } catch (error) {
    if (isRetomaError(error, 'isolated_timeout'))
      throw refused(errors.image_timeout, { seconds: limits.timeout / seconds(1) }, error)
    if (isRetomaError(error, 'isolated_memory'))
      throw refused(errors.image_memory, { megabytes: limits.memory / megabytes(1) }, error)
    if (isRetomaError(error, 'isolated_crash') && error.facts.signal !== 'SIGKILL')
      throw refused(errors.image_crash, { how: error.facts.how! }, error)
    // The image is not the cause: an ordinary failure, with another attempt.
    const isOfMachine =
      isRetomaError(error, 'isolated_crash') ||
      isRetomaError(error, 'isolated_starved') ||
      isRetomaError(error, 'child_not_started')
    throw isOfMachine ? failed(error) : error
  }
}
