/**
 * Bytes as text, with their encoding guessed: a mark at the beginning decides, then whether they are UTF-8; what is neither is what
 * Windows wrote in Brazil for thirty years. Pure.
 */

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252'
export type Decoded = { text: string; encoding: Encoding } | { binary: true }

/** `cut`: there is more of it, so that its last character may be half. */
export function decode(bytes: Uint8Array, cut = false): Decoded {
  const mark = markOf(bytes)
  if (mark !== undefined) return { text: new TextDecoder(mark).decode(bytes, { stream: cut }), encoding: mark }
  if (isBinary(bytes)) return { binary: true }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: cut })
    return { text, encoding: 'utf-8' }
  } catch {
    // Every byte is a character of it, so it is the last to be tried.
    return { text: fromWindows(bytes), encoding: 'windows-1252' }
  }
}

/** The end of a text that began in `encoding`; its first character may be half. An end that is no UTF-8 is what Windows wrote. */
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

/** How many characters (UTF-16 units) these bytes are, however they are cut from a file. */
export function lengthIn(bytes: Uint8Array, encoding: Encoding): number {
  if (encoding === 'windows-1252') return bytes.length
  if (encoding !== 'utf-8') return bytes.length / 2
  let units = 0
  for (const byte of bytes) if (!isContinuation(byte)) units += byte >= 0xf0 ? 2 : 1
  return units
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80

/** From 0x80 to 0x9F; the five that it has not are left as they are. */
const windows = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Windows-1252: ISO-8859-1, and letters where that has none. TextDecoder of Node 20 reads the one as the other. */
const fromWindows = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('latin1')
    .replace(/[\x80-\x9f]/g, letter => windows[letter.charCodeAt(0) - 0x80]!)

/** The mark at the beginning of a file, which is no part of its text. */
export function markOf([first, second, third]: Uint8Array): Encoding | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return undefined
}

/** No text has a zero in it, and few other bytes that are no letters. */
function isBinary(bytes: Uint8Array): boolean {
  let odd = 0
  for (const byte of bytes) {
    if (byte === 0) return true
    if (byte < 0x20 && !(byte >= 0x08 && byte <= 0x0d) && byte !== 0x1b) odd++
  }
  return odd > bytes.length / 20
}

/** As PostgreSQL keeps it: without zeros and halves of characters. Other characters that nobody sees become spaces. */
export const tidy = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, ' ').toWellFormed()
