/**
 * Recognises a file that is an image and also something else: an archive, a PDF, a web page, a script. Such a file passes as a photo, and
 * another program runs it, so that the snap is refused. Bytes of no known kind behind the image are accepted: cameras write videos there.
 */

export type OtherKind = 'ZIP' | 'PDF' | 'HTML' | 'PHP'

/** Tags that a browser runs, and that neither pixels nor the metadata of a camera contain. */
const markup = /<script[\s>/]|<html[\s>]|<!doctype html/i
const php = /<\?php\s/i

/** null: an image and nothing else that is known. */
export function otherKindOf(bytes: Uint8Array): OtherKind | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (endsAsZip(all)) return 'ZIP'
  // Readers of PDF look for the header in the first kilobyte.
  if (all.subarray(0, 1024).includes('%PDF-')) return 'PDF'
  const text = all.toString('latin1')
  if (php.test(text)) return 'PHP'
  return markup.test(text) ? 'HTML' : null
}

const endRecord = Buffer.from('PK\x05\x06', 'latin1')
const endLength = 22
const longestComment = 65_535

/** True if a reader of ZIP finds an archive: the end record, with a comment up to the end of the file and a directory before the record. */
function endsAsZip(bytes: Buffer): boolean {
  const from = Math.max(0, bytes.length - endLength - longestComment)
  for (let at = bytes.indexOf(endRecord, from); at >= 0; at = bytes.indexOf(endRecord, at + 1)) {
    if (at + endLength > bytes.length) return false
    if (bytes.readUInt32LE(at + 12) <= at && at + endLength + bytes.readUInt16LE(at + 20) <= bytes.length) return true
  }
  return false
}
