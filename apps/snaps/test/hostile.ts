/**
 * Files that nobody sends by accident: bombs, cut images, other types, headers that claim millions of pixels, and files that are two things
 * at once. Each has the code of the error that the sender must see.
 */
import { deflateSync, gzipSync } from 'node:zlib'
import sharp from 'sharp'
import { bytesOf, photo, pictureOf } from './images.ts'

export interface Hostile {
  name: string
  bytes: Buffer
  /** The code of the error; several: which decoder notices the problem is not our choice. */
  code: string | string[]
}

const crcTable = Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff
  for (const byte of bytes) crc = crcTable[(crc ^ byte) & 255]! ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  crc.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, crc])
}

interface PngOptions {
  bits?: number
  /** 0: grey, 2: RGB, 6: RGBA. */
  colour?: number
  interlaced?: boolean
  data?: Buffer
  before?: Buffer[]
}

/** A PNG with any header, and with `data` as its pixels, compressed. */
export function png(width: number, height: number, options: PngOptions = {}): Buffer {
  const { bits = 8, colour = 0, interlaced = false, data = Buffer.alloc(1000), before = [] } = options
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([bits, colour, 0, 0, interlaced ? 1 : 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...before,
    chunk('IDAT', deflateSync(data)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A JPEG whose header claims another size. */
function jpegOf(original: Buffer, width: number, height: number): Buffer {
  const bytes = Buffer.from(original)
  for (let at = 2; at < bytes.length - 9; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1]!
    if (marker < 0xc0 || marker > 0xc2) continue
    bytes.writeUInt16BE(height, at + 5)
    bytes.writeUInt16BE(width, at + 7)
    return bytes
  }
  throw new Error('the JPEG has no frame header')
}

/** A GIF whose canvas and first frame claim another size. */
function gifOf(original: Buffer, width: number, height: number): Buffer {
  const bytes = Buffer.from(original)
  const frame = bytes.indexOf(Buffer.from([0x2c, 0, 0, 0, 0, ...bytes.subarray(6, 10)]))
  for (const at of [6, frame + 5]) {
    bytes.writeUInt16LE(width, at)
    bytes.writeUInt16LE(height, at + 2)
  }
  return bytes
}

/** A TIFF of one strip that claims a size; little endian. */
function tiff(width: number, height: number): Buffer {
  const tags = [[256, 4, width], [257, 4, height], [258, 3, 8], [259, 3, 1], [262, 3, 1], [273, 4, 200], [277, 3, 1], [278, 4, height], [279, 4, 100]] // biome-ignore format: a table
  const bytes = Buffer.alloc(300)
  bytes.write('II*\0', 'latin1')
  bytes.writeUInt32LE(8, 4)
  bytes.writeUInt16LE(tags.length, 8)
  for (const [n, [tag, type, value]] of tags.entries()) {
    bytes.writeUInt16LE(tag!, 10 + n * 12)
    bytes.writeUInt16LE(type!, 12 + n * 12)
    bytes.writeUInt32LE(1, 14 + n * 12)
    bytes.writeUInt32LE(value!, 18 + n * 12)
  }
  return bytes
}

/** An extended WebP whose canvas claims a size, without pixels. */
function webp(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(30)
  bytes.write('RIFF', 0)
  bytes.writeUInt32LE(22, 4)
  bytes.write('WEBPVP8X', 8)
  bytes.writeUInt32LE(10, 16)
  bytes.writeUIntLE(width - 1, 24, 3)
  bytes.writeUIntLE(height - 1, 27, 3)
  return bytes
}

/** A ZIP with one stored file. */
export function zip(name: string, content: string): Buffer {
  const [file, body] = [Buffer.from(name), Buffer.from(content)]
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt32LE(crc32(body), 10)
  common.writeUInt32LE(body.length, 14)
  common.writeUInt32LE(body.length, 18)
  common.writeUInt16LE(file.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, file, body])
  const central = Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, Buffer.alloc(14), file])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(local.length, 16)
  return Buffer.concat([local, central, end])
}

const html = '<html><script>alert(1)</script></html>'
const pdf = '%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF'
const php = '<?php system($_GET["x"]); ?>'
const laughs = `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "${'&a;'.repeat(50)}"><!ENTITY c "${'&b;'.repeat(50)}">]>`
const svg = (inside: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">${inside}</svg>`

/** Every size is more than 100 million pixels. */
async function giants(): Promise<Hostile[]> {
  const [jpeg, gif] = [await photo(1), await photo(1, { format: 'gif' })]
  const sizes = [[30_000, 30_000], [65_500, 65_500], [20_000, 5_001]] as const // biome-ignore format: a table
  const all = sizes.flatMap(([width, height]) => [
    { name: `1-bit PNG ${width}x${height}`, bytes: png(width, height, { bits: 1 }) },
    { name: `16-bit RGBA PNG ${width}x${height}`, bytes: png(width, height, { bits: 16, colour: 6 }) },
    { name: `interlaced PNG ${width}x${height}`, bytes: png(width, height, { colour: 2, interlaced: true }) },
    { name: `JPEG ${width}x${height}`, bytes: jpegOf(jpeg, width, height) },
    { name: `GIF ${width}x${height}`, bytes: gifOf(gif, width, height) },
    { name: `TIFF ${width}x${height}`, bytes: tiff(width, height) },
  ])
  const bombs = [
    { name: 'PNG bomb', bytes: png(30_000, 30_000, { bits: 1, data: Buffer.alloc(4_000_000) }) },
    { name: 'PNG of one endless row', bytes: png(2_000_000_000, 1) },
    { name: 'TIFF of 10^6 x 10^6', bytes: tiff(1_000_000, 1_000_000) },
    { name: 'WebP canvas 16383x16383', bytes: webp(16_383, 16_383) },
  ]
  return [...all, ...bombs].map(each => ({ ...each, code: ['too_many_pixels', 'corrupt_image', 'not_an_image'] }))
}

async function truncated(): Promise<Hostile[]> {
  const formats = ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const
  const whole = await Promise.all(formats.map((format, n) => photo(n + 10, { format })))
  const parts = [0.1, 0.3, 0.5, 0.7, 0.9]
  return formats.flatMap((format, n) =>
    parts.map(part => ({
      name: `${part} of a ${format}`,
      bytes: whole[n]!.subarray(0, Math.floor(whole[n]!.length * part)),
      code: ['corrupt_image', 'not_an_image'],
    })),
  )
}

/** A PNG with a wrong byte among its pixels: the checksums do not fit. */
async function spoilt(): Promise<Hostile[]> {
  const original = await photo(20, { format: 'png' })
  return [0.2, 0.35, 0.5, 0.65, 0.8, 0.95].map(part => {
    const bytes = Buffer.from(original)
    bytes[Math.floor(bytes.length * part)]! ^= 0x55
    return { name: `PNG with a wrong byte at ${part}`, bytes, code: 'corrupt_image' }
  })
}

/** Headers that promise more than follows. */
async function lies(): Promise<Hostile[]> {
  const jpeg = await photo(30)
  const exif = Buffer.concat([jpeg.subarray(0, 2), Buffer.from([0xff, 0xe1, 0xff, 0xff]), Buffer.alloc(500)])
  return [
    { name: 'PNG of 9000 x 9000 with one row', bytes: png(9000, 9000) },
    { name: 'interlaced PNG of 9000 x 9000 with one row', bytes: png(9000, 9000, { interlaced: true }) },
    { name: 'PNG of 0 x 0', bytes: png(0, 0) },
    { name: 'PNG with a palette that is missing', bytes: png(10, 10, { colour: 3 }) },
    { name: 'JPEG with EXIF that does not end', bytes: exif },
    { name: 'TIFF of 9000 x 9000 with 100 bytes', bytes: tiff(9000, 9000) },
    { name: 'WebP without pixels', bytes: webp(100, 100) },
  ].map(each => ({ ...each, code: ['corrupt_image', 'not_an_image'] }))
}

function otherTypes(): Hostile[] {
  const files: Record<string, Buffer | string> = {
    text: 'this is no image',
    'one byte': 'x',
    NUL: Buffer.alloc(1000),
    noise: bytesOf(40, 5000),
    JSON: '{"image": true}',
    HTML: html,
    PDF: pdf,
    PHP: php,
    ZIP: zip('a.jpg', 'x'),
    gzip: gzipSync('x'.repeat(1000)),
    ELF: Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(500)]),
    EXE: Buffer.concat([Buffer.from('MZ'), Buffer.alloc(500)]),
    MP4: Buffer.concat([Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1'), Buffer.alloc(500)]),
    MP3: Buffer.concat([Buffer.from('ID3\x04', 'latin1'), Buffer.alloc(500)]),
    BMP: Buffer.concat([Buffer.from('BM\x36\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0', 'latin1'), Buffer.alloc(500)]),
    ICO: Buffer.concat([Buffer.from([0, 0, 1, 0, 1, 0, 16, 16]), Buffer.alloc(500)]),
    PSD: Buffer.concat([Buffer.from('8BPS\0\x01', 'latin1'), Buffer.alloc(500)]),
    EPS: '%!PS-Adobe-3.0 EPSF-3.0\n(/etc/passwd) (r) file',
    PPM: 'P6 9 9 255\n'.padEnd(300, 'x'),
    'Radiance HDR': '#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 30000 +X 30000\n',
    SVG: svg('<rect width="9" height="9"/>'),
    'SVG that reads a file': svg('<image xlink:href="file:///etc/passwd" width="9" height="9"/>'),
    'SVG that asks a server': svg('<image xlink:href="http://127.0.0.1:1/x.png" width="9" height="9"/>'),
    'SVG that laughs': laughs + svg('&c;'),
    'SVG of a million pixels a side': svg('').replace('width="9" height="9"', 'width="1000000" height="1000000"'),
    MVG: 'push graphic-context\nviewbox 0 0 9 9\nimage over 0,0 0,0 "https://example.com/x.jpg"\npop graphic-context',
    'JPEG XL': Buffer.concat([Buffer.from([0xff, 0x0a]), Buffer.alloc(200)]),
    'RIFF that is no WebP': Buffer.concat([Buffer.from('RIFF\x20\0\0\0WAVEfmt ', 'latin1'), Buffer.alloc(200)]),
  }
  return Object.entries(files).map(([name, content]) => ({
    name,
    bytes: Buffer.from(content as string),
    code: ['not_an_image', 'corrupt_image'],
  }))
}

/** Each is an image that every viewer shows, and something else besides. */
async function polyglots(): Promise<Hostile[]> {
  const [jpeg, pngFile, gif, webpFile] = await Promise.all(
    (['jpeg', 'png', 'gif', 'webp'] as const).map((format, n) => photo(n + 50, { format })),
  )
  const images = { jpeg: jpeg!, png: pngFile!, gif: gif!, webp: webpFile! }
  const archive = zip('Main.class', 'cafebabe')
  const appended = Object.entries(images).flatMap(([format, image]) => [
    { name: `${format} and ZIP`, bytes: Buffer.concat([image, moved(archive, image.length)]) },
    { name: `${format} and HTML`, bytes: Buffer.concat([image, Buffer.from(html)]) },
    { name: `${format} and PHP`, bytes: Buffer.concat([image, Buffer.from(php)]) },
  ])
  const comment = (text: string) => {
    const head = Buffer.from([0xff, 0xfe, 0, 0])
    head.writeUInt16BE(text.length + 2, 2)
    return Buffer.concat([jpeg!.subarray(0, 2), head, Buffer.from(text), jpeg!.subarray(2)])
  }
  const inside = [
    { name: 'JPEG with PHP as comment', bytes: comment(php) },
    { name: 'JPEG with a script as comment', bytes: comment('<SCRIPT src=x></SCRIPT>') },
    { name: 'JPEG with a PDF as comment', bytes: comment(pdf) },
    { name: 'PNG with a PDF as text', bytes: png(10, 10, { data: Buffer.alloc(110), before: [chunk('tEXt', Buffer.from(`a\0${pdf}`))] }) }, // biome-ignore format: a table
    { name: 'PNG with PHP as text', bytes: png(10, 10, { data: Buffer.alloc(110), before: [chunk('tEXt', Buffer.from(`a\0${php}`))] }) }, // biome-ignore format: a table
  ]
  return [...appended, ...inside].map(each => ({ ...each, code: 'polyglot_image' }))
}

/** A ZIP that begins behind other bytes. */
function moved(archive: Buffer, by: number): Buffer {
  const bytes = Buffer.from(archive)
  const end = bytes.length - 22
  bytes.writeUInt32LE(bytes.readUInt32LE(end + 16) + by, end + 16)
  return bytes
}

export const hostileImages = async (): Promise<Hostile[]> => [
  ...(await giants()),
  ...(await truncated()),
  ...(await spoilt()),
  ...(await lies()),
  ...otherTypes(),
  ...(await polyglots()),
]

/** Images of every format and kind that are to be done. */
export async function goodImages(): Promise<{ name: string; bytes: Buffer }[]> {
  const formats = ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const
  const usual = formats.flatMap(format =>
    [1, 2, 3, 4, 5].map(async n => ({
      name: `${format} ${n}`,
      bytes: await photo(100 + n, { format, width: 100 * n }),
    })),
  )
  const picture = () => pictureOf(200, { width: 90, height: 60 })
  const grey = { width: 40, height: 30, channels: 1 as const }
  const special: Record<string, Promise<Buffer> | Buffer> = {
    'one pixel': sharp(bytesOf(1, 3), { raw: { width: 1, height: 1, channels: 3 } })
      .png()
      .toBuffer(),
    'one row': sharp(bytesOf(1, 9000), { raw: { width: 3000, height: 1, channels: 3 } })
      .png()
      .toBuffer(),
    grey: sharp(bytesOf(2, 1200), { raw: grey }).png().toBuffer(),
    'with alpha': picture().ensureAlpha(0.5).png().toBuffer(),
    CMYK: picture().toColourspace('cmyk').jpeg().toBuffer(),
    '16 bits': picture().toColourspace('rgb16').png().toBuffer(),
    progressive: picture().jpeg({ progressive: true }).toBuffer(),
    turned: picture().jpeg().withMetadata({ orientation: 8 }).toBuffer(),
    '99 million pixels': png(11_000, 9_000, { bits: 1, data: Buffer.alloc((11_000 / 8 + 1) * 9_000) }),
    'with bytes of no known kind behind it': picture().jpeg().toBuffer().then(image => Buffer.concat([image, bytesOf(3, 5000)])), // biome-ignore format: a table
  }
  const rest = Object.entries(special).map(async ([name, bytes]) => ({ name, bytes: await bytes }))
  return Promise.all([...usual, ...rest])
}
