/** Makes TIFF files with any number of pages, uncompressed and grey. */

interface TiffPage {
  width: number
  height: number
  /** The page names bytes behind the end of the file. Default false. */
  isDamaged?: boolean
}

const entries = 8
const headerSize = 8
const pageSize = 2 + entries * 12 + 4

/** The pages share their bytes, which are white. */
export function tiffOf(pages: readonly TiffPage[]): Buffer {
  const most = Math.max(...pages.map(({ width, height }) => width * height))
  const pixels = headerSize + pages.length * pageSize
  const bytes = Buffer.alloc(pixels + most, 0xff)
  bytes.write('II*\0', 0, 'latin1')
  bytes.writeUInt32LE(headerSize, 4)
  for (const [n, { width, height, isDamaged = false }] of pages.entries()) {
    const at = headerSize + n * pageSize
    const fields = [
      [256, 4, width],
      [257, 4, height],
      [258, 3, 8],
      [259, 3, 1],
      [262, 3, 1],
      [273, 4, isDamaged ? 0x7fffff00 : pixels],
      [278, 4, height],
      [279, 4, width * height],
    ] as const
    bytes.writeUInt16LE(fields.length, at)
    for (const [i, [tag, type, value]] of fields.entries()) {
      const field = at + 2 + i * 12
      bytes.writeUInt16LE(tag, field)
      bytes.writeUInt16LE(type, field + 2)
      bytes.writeUInt32LE(1, field + 4)
      bytes.writeUInt32LE(0, field + 8)
      if (type === 3) bytes.writeUInt16LE(value, field + 8)
      else bytes.writeUInt32LE(value, field + 8)
    }
    bytes.writeUInt32LE(n + 1 < pages.length ? at + pageSize : 0, at + 2 + entries * 12)
  }
  return bytes
}
