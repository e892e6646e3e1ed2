/**
 * Reads an image in a separate process (`ctx.isolated`), with sharp: checks the header first, then draws each size. A problem of the image
 * is a result; a thrown error is a problem of this code.
 */
import { readFile } from 'node:fs/promises'
import sharp from 'sharp'

export type ReadImage =
  | { type: string; width: number; height: number; pictures: { width: number; height: number; webp: Uint8Array }[] }
  | { trouble: 'not_an_image' }
  | { trouble: 'heic' }
  | { trouble: 'too_large'; width: number; height: number; most: number }
  | { trouble: 'corrupt'; problem: string }

/** A photo of 100 megapixels is read; 30,000 x 30,000 pixels are not. */
const mostPixels = 120_000_000
const quality = 80
/** SVG is a program that draws and fetches; PDF, HEIF of unknown codecs and camera formats are left to others. */
const known: Readonly<Record<string, string>> = {
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  tiff: 'image/tiff',
  heif: 'image/avif',
}

/** By the brand in the first box of the file. */
const isHeic = (bytes: Buffer): boolean => /^.{4}ftyphe(?:ic|ix|im|is|vc|vx)/s.test(bytes.toString('latin1', 0, 12))

sharp.cache(false)
sharp.concurrency(1)
// Loaders of libvips for formats that this file does not read.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpegBuffer',
    'VipsForeignLoadPngBuffer',
    'VipsForeignLoadWebpBuffer',
    'VipsForeignLoadNsgifBuffer',
    'VipsForeignLoadTiffBuffer',
    'VipsForeignLoadHeifBuffer',
  ],
})

export default async ({ path, sizes }: { path: string; sizes: readonly number[] }): Promise<ReadImage> => {
  const bytes = await readFile(path)
  const open = () => sharp(bytes, { limitInputPixels: mostPixels, failOn: 'error', sequentialRead: true, pages: 1 })
  let size: { width: number; height: number; format: string }
  try {
    const header = await sharp(bytes, { limitInputPixels: false }).metadata()
    const { width, height, format, autoOrient, compression } = header
    // HEIF with another codec than AV1 is HEIC, whose decoder is not part of sharp.
    if (format === 'heif' && compression !== 'av1') return { trouble: 'heic' }
    size = { width: autoOrient?.width ?? width, height: autoOrient?.height ?? height, format }
  } catch {
    return { trouble: isHeic(bytes) ? 'heic' : 'not_an_image' }
  }
  const { width, height, format } = size
  const type = known[format]
  if (type === undefined) return { trouble: 'not_an_image' }
  if (width * height > mostPixels) return { trouble: 'too_large', width, height, most: mostPixels }
  try {
    const pictures = []
    for (const longest of sizes) {
      const { data, info } = await open()
        .rotate()
        .resize({ width: longest, height: longest, fit: 'inside', withoutEnlargement: true })
        .toColourspace('srgb')
        .webp({ quality })
        .toBuffer({ resolveWithObject: true })
      pictures.push({ width: info.width, height: info.height, webp: new Uint8Array(data) })
    }
    return { type, width, height, pictures }
  } catch (error) {
    return { trouble: 'corrupt', problem: (error as Error).message.split('\n')[0]!.slice(0, 300) }
  }
}
