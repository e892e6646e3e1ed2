/** Tells a PDF by its bytes, not by its name: by the first bytes of a stream, and by the end of a file. */
import { open } from 'node:fs/promises'
import { localized } from 'retoma'

/** Readers of PDFs look for the header in this part. */
export const headBytes = 1024
/** Readers of PDFs look for the end in this part. */
const tailBytes = 2048
/** Zeros or blanks at the end of a file. */
const mostPadding = 64 * 1024

export const isPdf = (head: Uint8Array): boolean => Buffer.from(head.subarray(0, headBytes)).includes('%PDF-')

/** A broken-off file is not read, although some pages could be read. */
export async function isWhole(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const length = Math.min(size, mostPadding)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const tail = buffer.subarray(0, bytesRead)
    const end = tail.findLastIndex(byte => byte !== 0 && byte !== 0x20 && byte !== 0x0a && byte !== 0x0d) + 1
    return tail.subarray(Math.max(end - tailBytes, 0), end).includes('%%EOF')
  } finally {
    await file.close()
  }
}

/** The likely type of a file that is no PDF. */
export function likenessOf(head: Uint8Array) {
  if (head.byteLength === 0) return localized('it is empty', 'está vazio')
  const bytes = Buffer.from(head).toString('latin1')
  // Before the conversion to lower case, which changes bytes above 0x7f.
  if (/^(\x89PNG|\xff\xd8\xff|GIF8|RIFF[\s\S]{4}WEBP)/.test(bytes))
    return localized('it seems to be an image', 'parece ser uma imagem')
  const start = bytes.trimStart().slice(0, 200).toLowerCase()
  if (/^(<!doctype html|<html|<head|<body)/.test(start))
    return localized('it seems to be a web page', 'parece ser uma página da web')
  if (start.startsWith('pk\x03\x04'))
    return localized('it seems to be a ZIP or an Office file', 'parece ser um ZIP ou um arquivo do Office')
  return localized('it does not begin with %PDF', 'não começa com %PDF')
}
