/** Detects the type of a file by the first and last bytes and by the name. Reads only a bounded part of the file. */
import { open } from 'node:fs/promises'

/** The parts in which PDF readers look for the header and the end. */
const headBytes = 1024
const tailBytes = 2048
/** Zeros or blanks padded to the end of a file. */
const mostPadding = 64 * 1024

export interface Ends {
  size: number
  head: Buffer
  tail: Buffer
}

export async function endsOf(path: string): Promise<Ends> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const part = async (from: number, length: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from)
      return buffer.subarray(0, bytesRead)
    }
    return { size, head: await part(0, headBytes), tail: await part(Math.max(size - mostPadding, 0), mostPadding) }
  } finally {
    await file.close()
  }
}

export const claimsToBePdf = (name: string, type: string): boolean =>
  /\.pdf$/i.test(name) || /^application\/(x-)?pdf\b/i.test(type)

/** By the name or the declared type: the real type shows when the file is read. */
export const isReadable = (name: string, type: string): boolean =>
  claimsToBePdf(name, type) || /\.(?:txt|md|csv)$/i.test(name) || /^text\//i.test(type)

/** A text may begin with words about PDFs; a file declared as PDF may have bytes before the header. */
export const isPdf = ({ head }: Ends, claimed: boolean): boolean =>
  claimed ? head.includes('%PDF-') : head.subarray(0, 5).equals(Buffer.from('%PDF-'))

/** A broken-off upload is not read as a whole file, although some pages could be read. */
export function isWhole({ tail }: Ends): boolean {
  const end = tail.findLastIndex(byte => byte !== 0 && byte !== 0x20 && byte !== 0x0a && byte !== 0x0d) + 1
  return tail.subarray(Math.max(end - tailBytes, 0), end).includes('%%EOF')
}

/** The likely type of a file that is no PDF. */
export const likenessOf = (ends: Ends) =>
  knownAs(ends) ?? { en: 'it does not begin with %PDF', pt: 'não começa com %PDF' }

/** By the first bytes; undefined: the bytes do not show the type. */
export function knownAs({ head }: Ends) {
  const start = head.toString('latin1').trimStart().slice(0, 200).toLowerCase()
  if (/^(<!doctype html|<html|<head|<body)/.test(start))
    return { en: 'it seems to be a web page', pt: 'parece ser uma página da web' }
  if (start.startsWith('pk\x03\x04'))
    return { en: 'it seems to be a ZIP or an Office file', pt: 'parece ser um ZIP ou um arquivo do Office' }
  if (/^(\x89png|\xff\xd8\xff|gif8)/.test(start)) return { en: 'it seems to be an image', pt: 'parece ser uma imagem' }
  return undefined
}
