/** Detects the type of a file by the first and last bytes and by the name. Reads only a bounded part of the file. */
import { open } from 'node:fs/promises'
import { markOf } from './plain.ts'

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
  const start = startOf(head)
  if (isHtml(start)) return { en: 'it seems to be a web page', pt: 'parece ser uma página da web' }
  if (start.startsWith('pk\x03\x04'))
    return { en: 'it seems to be a ZIP or an Office file', pt: 'parece ser um ZIP ou um arquivo do Office' }
  if (['rar!', '7z\xbc\xaf', '\x1f\x8b', 'bzh', '\xfd7zxz'].some(magic => start.startsWith(magic)))
    return { en: 'it seems to be an archive', pt: 'parece ser um arquivo compactado' }
  if (isImage(head)) return { en: 'it seems to be an image', pt: 'parece ser uma imagem' }
  return undefined
}

/** The first letters without the byte order mark; a text in UTF-16 has such a mark. */
function startOf(head: Buffer): string {
  const mark = markOf(head)
  const text = mark === undefined ? head.toString('latin1') : new TextDecoder(mark).decode(head)
  return text.trimStart().slice(0, 200).toLowerCase()
}

const isHtml = (start: string): boolean => /^(<!doctype html|<html|<head|<body)/.test(start)

/** The images that the decoder reads (ocr.ts). */
const isImage = (head: Buffer): boolean =>
  /^(\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|II\*\0|MM\0\*)/s.test(head.subarray(0, 12).toString('latin1'))

/**
 * The reader for a file. `zip`: an Office format or none, which the entries show. `ole`: a message of Outlook or an old Office format, which
 * the streams show.
 */
export type Kind = 'pdf' | 'zip' | 'ole' | 'rtf' | 'html' | 'xml' | 'eml' | 'image' | 'plain'

/** By the first bytes, then by the name and the declared type. undefined: no reader. A PDF is told by `isPdf`. */
export function kindOf({ head }: Ends, name: string, type: string): Exclude<Kind, 'pdf'> | undefined {
  const bytes = head.toString('latin1')
  if (bytes.startsWith('PK\x03\x04') || bytes.startsWith('PK\x05\x06')) return 'zip'
  if (bytes.startsWith('\xd0\xcf\x11\xe0')) return 'ole'
  if (bytes.startsWith('{\\rtf')) return 'rtf'
  if (isImage(head)) return 'image'
  if (/\.(?:txt|md|csv|tsv)$/i.test(name)) return 'plain'
  const start = startOf(head)
  if (/\.eml$/i.test(name) || /^message\/rfc822\b/i.test(type)) return 'eml'
  if (/\.(?:x?html?)$/i.test(name) || /^text\/html\b|^application\/xhtml/i.test(type) || isHtml(start)) return 'html'
  if (start.startsWith('<?xml') || (/\.xml$/i.test(name) && start.startsWith('<'))) return 'xml'
  return /^text\//i.test(type) ? 'plain' : undefined
}
