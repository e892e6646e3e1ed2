/** Makes ZIP files and workbooks for tests, good and hostile. */
import { constants, crc32 as crcOf, deflateRawSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  bytes: Uint8Array | string
  /** Bytes as they are in the ZIP, with their unpacked size; default: `bytes`, deflated. */
  packed?: { bytes: Uint8Array; size: number; crc?: number }
  /** In place of the true unpacked size in the directory. */
  declared?: number
  flags?: number
  method?: number
  /** The encoding of the name. Default UTF-8. */
  names?: BufferEncoding
}

// Node 20.12 has no crc32 in zlib.
const table = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value >>> 0
})
export function crc32(bytes: Uint8Array): number {
  if (typeof crcOf === 'function') return crcOf(bytes)
  let crc = 0xffffffff
  for (const byte of bytes) crc = table[(crc ^ byte) & 0xff]! ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

export function zipOf(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, bytes, packed, declared, flags = 0x0800, method = 8, names } of entries) {
    const plain = typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes)
    const content = Buffer.from(packed?.bytes ?? (method === 8 ? deflateRawSync(plain) : plain))
    const [crc, size] = [packed?.crc ?? crc32(plain), declared ?? packed?.size ?? plain.length]
    const title = Buffer.from(name, names)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(flags, 2)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(crc, 10)
    fields.writeUInt32LE(content.length, 14)
    fields.writeUInt32LE(Math.min(size, 0xffffffff) >>> 0, 18)
    fields.writeUInt16LE(title.length, 22)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), fields, title, content)
    const more = Buffer.alloc(14)
    more.writeUInt32LE(at, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, more, title)
    at += 30 + title.length + content.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 0, 'latin1')
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, list, end])
}

/** Megabytes of a character, deflated in a repeatable piece, so that the whole is never in memory. */
export function deflatedBomb(megabytes: number, character = ' '): { bytes: Buffer; size: number; crc: number } {
  const piece = deflateRawSync(Buffer.alloc(1024 * 1024, character), { finishFlush: constants.Z_FULL_FLUSH })
  const pieces = Array.from({ length: megabytes }, () => piece)
  return { bytes: Buffer.concat([...pieces, Buffer.from([0x03, 0x00])]), size: megabytes * 1024 * 1024, crc: 0 }
}

export type CellValue =
  | string
  | number
  | { formula: string; value?: string }
  | { inline: string }
  /** `style`: the number of the style in xl/styles.xml. */
  | { number: number; style: number }
  | null

const columnOf = (index: number): string =>
  (index < 26 ? '' : columnOf(Math.floor(index / 26) - 1)) + String.fromCharCode(65 + (index % 26))
const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function sheetOf(rows: readonly (readonly CellValue[])[], shared: string[]): string {
  const cellOf = (value: CellValue, at: string) => {
    if (value === null) return ''
    if (typeof value === 'number') return `<c r="${at}"><v>${value}</v></c>`
    if (typeof value === 'string') return `<c r="${at}" t="s"><v>${shared.push(value) - 1}</v></c>`
    if ('number' in value) return `<c r="${at}" s="${value.style}"><v>${value.number}</v></c>`
    if ('inline' in value) return `<c r="${at}" t="inlineStr"><is><t>${escaped(value.inline)}</t></is></c>`
    return `<c r="${at}"><f>${escaped(value.formula)}</f>${value.value === undefined ? '' : `<v>${value.value}</v>`}</c>`
  }
  const lines = rows.map((cells, row) => {
    const filled = cells.map((value, column) => cellOf(value, `${columnOf(column)}${row + 1}`))
    return `<row r="${row + 1}">${filled.join('')}</row>`
  })
  return `<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${lines.join('')}</sheetData></worksheet>`
}

export const workbookXml = `<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Visitas" sheetId="1" r:id="rId1"/></sheets></workbook>`
const relations = `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="t" Target="worksheets/sheet1.xml"/></Relationships>`

/** The files of a workbook with a sheet; `more` replaces and adds files. */
export function bookEntries(
  rows: readonly (readonly CellValue[])[],
  more: Readonly<Record<string, ZipEntry>> = {},
): ZipEntry[] {
  const shared: string[] = []
  const sheet = sheetOf(rows, shared)
  const texts = `<?xml version="1.0"?><sst xmlns="x">${shared.map(text => `<si><t>${escaped(text)}</t></si>`).join('')}</sst>`
  const files: Record<string, ZipEntry> = {
    '[Content_Types].xml': { name: '[Content_Types].xml', bytes: '<Types/>' },
    'xl/workbook.xml': { name: 'xl/workbook.xml', bytes: workbookXml },
    'xl/_rels/workbook.xml.rels': { name: 'xl/_rels/workbook.xml.rels', bytes: relations },
    'xl/worksheets/sheet1.xml': { name: 'xl/worksheets/sheet1.xml', bytes: sheet },
    'xl/sharedStrings.xml': { name: 'xl/sharedStrings.xml', bytes: texts },
    ...more,
  }
  return Object.values(files)
}

export const workbookOf = (
  rows: readonly (readonly CellValue[])[],
  more?: Readonly<Record<string, ZipEntry>>,
): Buffer => zipOf(bookEntries(rows, more))
