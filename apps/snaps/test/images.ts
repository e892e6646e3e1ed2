/** Images for tests: photos that differ by a seed, and files that look like images. */
import sharp from 'sharp'

/** Numbers that look random and are the same for the same seed. */
export function bytesOf(seed: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = seed * 2_654_435_761 + 1
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 3_266_489_917) | 0
    bytes[at] = (state >>> 16) & 255
  }
  return bytes
}

export interface PhotoOptions {
  width?: number
  height?: number
  format?: 'jpeg' | 'png' | 'webp' | 'gif' | 'tiff' | 'avif'
  quality?: number
}

/** A picture with large soft areas, as a photo has. */
export function pictureOf(seed: number, { width = 320, height = 240 }: PhotoOptions = {}) {
  const small = { width: 8, height: 6, channels: 3 as const }
  return sharp(bytesOf(seed, small.width * small.height * 3), { raw: small }).resize(width, height, { fit: 'fill' })
}

export function photo(seed: number, options: PhotoOptions = {}): Promise<Buffer> {
  const { format = 'jpeg', quality = 80 } = options
  const picture = pictureOf(seed, options)
  return (
    format === 'png' || format === 'gif' ? picture.toFormat(format) : picture.toFormat(format, { quality })
  ).toBuffer()
}

export const flat = (colour: string, width = 32, height = 32): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background: colour } })
    .png()
    .toBuffer()
