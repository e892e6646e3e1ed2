/**
 * Analyses the bytes of an image: one decode to at most 1024 pixels a side, all measures from these pixels. Runs in a separate process
 * (decode-isolated.ts), because libvips is native code and the bytes come from strangers.
 *
 * Invariant: a problem of the image is a result; a thrown error is a problem of this code or of the machine. Only the decoders of
 * photos run: SVG, PDF and every other format of libvips is blocked.
 */
import sharp, { type Sharp } from 'sharp'
import { mostPixels } from './most-pixels.ts'
import {
  blurScoreOf,
  type Colour,
  dominantColoursOf,
  histogramOf,
  luminanceOf,
  type Pixels,
  perceptualHashOf,
} from './pixels.ts'
import { type OtherKind, otherKindOf } from './polyglot.ts'
import { type TakenAt, takenAtOf } from './taken-at.ts'

export interface ImageFacts {
  format: string
  /** As shown, after the rotation that EXIF asks for. */
  width: number
  height: number
  /** 16 hex digits. */
  perceptualHash: string
  /** 256 numbers, of the analysed pixels. */
  luminanceHistogram: number[]
  blurScore: number | null
  dominantColours: Colour[]
  takenAt: TakenAt | null
}

export type Analysed =
  | { facts: ImageFacts }
  | { trouble: 'not_an_image' }
  | { trouble: 'too_many_pixels'; width: number; height: number }
  | { trouble: 'corrupt_image'; problem: string }
  | { trouble: 'polyglot_image'; kind: OtherKind }

/** Pixels of a side that are analysed. */
const side = 1024

sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Tiff', 'Heif'].map(format => `VipsForeignLoad${format}`),
})
// One image at a time, each with one thread: a worker starts one process for each core.
sharp.concurrency(1)
sharp.cache(false)

export async function analyse(bytes: Uint8Array): Promise<Analysed> {
  const open = (limitInputPixels: number | false) => sharp(bytes, { failOn: 'error', limitInputPixels, pages: 1 })
  // Only the header is read here.
  const header = await open(false).metadata().catch(unreadable)
  if ('trouble' in header) return isHeic(bytes) ? { trouble: 'not_an_image' } : header
  const { width, height, format, compression, autoOrient, exif } = header
  // HEIF with another codec than AV1 is HEIC, whose decoder is not part of sharp.
  if (format === 'heif' && compression !== 'av1') return { trouble: 'not_an_image' }
  if (width * height > mostPixels) return { trouble: 'too_many_pixels', width, height }
  const kind = otherKindOf(bytes)
  if (kind !== null) return { trouble: 'polyglot_image', kind }
  const pixels = await decode(open(mostPixels)).catch(unreadable)
  if ('trouble' in pixels) return pixels
  return {
    facts: { format, ...sizeOf(autoOrient), ...measuresOf(pixels), takenAt: takenAtOf(exif) },
  }
}

/** By the brand in the first box of the file. */
const isHeic = (bytes: Uint8Array): boolean =>
  /^.{4}ftyphe(?:ic|ix|im|is|vc|vx)/s.test(Buffer.from(bytes.subarray(0, 12)).toString('latin1'))

const sizeOf = ({ width, height }: { width: number; height: number }) => ({ width, height })

async function decode(image: Sharp): Promise<Pixels> {
  const { data, info } = await image
    .autoOrient()
    .resize({ width: side, height: side, fit: 'inside', withoutEnlargement: true })
    .flatten({ background: 'white' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' })
    .toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  if (channels !== 3) throw new Error(`the decoder gave ${channels} channels`)
  return { data, width, height }
}

function measuresOf(pixels: Pixels): Omit<ImageFacts, 'format' | 'width' | 'height' | 'takenAt'> {
  const { width, height } = pixels
  const luminance = luminanceOf(pixels)
  return {
    perceptualHash: perceptualHashOf(luminance, width, height),
    luminanceHistogram: histogramOf(luminance),
    blurScore: blurScoreOf(luminance, width, height),
    dominantColours: dominantColoursOf(pixels),
  }
}

/** libvips says only in words what is wrong. Throws if the machine is at fault, so that the snap is tried again. */
function unreadable(error: Error): Extract<Analysed, { trouble: 'not_an_image' | 'corrupt_image' }> {
  const { message } = error
  if (/out of memory|unable to create thread/i.test(message)) throw error
  if (/unsupported image format/i.test(message)) return { trouble: 'not_an_image' }
  const problem = message
    .replace(/^Input \w+ has corrupt header:/, 'corrupt header:')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .join(' ')
  return { trouble: 'corrupt_image', problem: problem.replace(/:$/, '').slice(0, 200) }
}
