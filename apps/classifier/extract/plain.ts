/**
 * Decodes bytes as text with a guessed encoding: a byte order mark decides, then valid UTF-8; other bytes are Windows-1252, the encoding
 * of Windows in Brazil for thirty years. Pure.
 */

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'
export type Decoded = { text: string; encoding: Encoding } | { binary: true }

/** `cut`: the file has more bytes, so the last character may be half. */
export function decode(bytes: Uint8Array, cut = false): Decoded {
  const mark = markOf(bytes)
  if (mark !== undefined) return { text: new TextDecoder(mark).decode(bytes, { stream: cut }), encoding: mark }
  if (isBinary(bytes)) return { binary: true }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
    return { text, encoding: 'utf-8' }
  } catch {
    // Every byte is a Windows-1252 character, so this encoding is tried last.
    return { text: fromWindows(bytes), encoding: 'windows-1252' }
  }
}

/** The end of a text that began in `encoding`; the first character may be half. An end that is not UTF-8 is Windows-1252. */
export function decodeEnd(bytes: Uint8Array, encoding: Encoding): string {
  if (encoding === 'windows-1252') return fromWindows(bytes)
  if (encoding !== 'utf-8') return new TextDecoder(encoding).decode(bytes)
  const first = bytes.findIndex(byte => !isContinuation(byte))
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(Math.min(first, 3)))
  } catch {
    return fromWindows(bytes)
  }
}

/** The number of characters (UTF-16 units) of these bytes, wherever the bytes were cut. */
export function lengthIn(bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === 'windows-1252') return bytes.length
  if (encoding !== 'utf-8') return bytes.length / 2
  let units = 0
  for (const byte of bytes) if (!isContinuation(byte)) units += byte >= 0xf0 ? 2 : 1
  return units
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** The characters 0x80 to 0x9F; the five undefined characters stay as they are. */
const windows = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Windows-1252: ISO-8859-1 with letters from 0x80 to 0x9F. TextDecoder of Node 20 decodes Windows-1252 as ISO-8859-1. */
export const fromWindows = (bytes: Uint8Array): string => withWindowsLetters(Buffer.from(bytes).toString('latin1'))

/** Quotation marks and dashes of Windows-1252 in a text that was decoded as ISO-8859-1. */
export const withWindowsLetters = (text: string): string =>
  text.replace(/[\x80-\x9f]/g, letter => windows[letter.charCodeAt(0) - 0x80]!)

/** The byte order mark of a file, which is no part of the text. */
export function markOf([first, second, third]: Uint8Array): Encoding | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return undefined
}

/** Text has no zero byte, and few other control bytes. */
function isBinary(bytes: Uint8Array): boolean {
  let odd = 0
  for (const byte of bytes) {
    if (byte === 0) return true
    if (byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b) odd++
  }
  return odd > bytes.length / 20
}

/** Makes text storable in PostgreSQL: without zeros and half characters. Other invisible characters become spaces. */
export const tidy = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ' ').toWellFormed()
