/**
 * Decodes the bytes of a page. The order: a byte order mark, the charset of the header, the charset of a meta tag, UTF-8. Bytes that are
 * not valid in the named UTF-8 are read as the meta tag says, or as windows-1252, because servers often name a wrong charset.
 */

const metaCharset = /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{2,40})/i
const headBytes = 4096

export function decodePage(page: Uint8Array, contentType: string | null): string {
  const mark = markOf(page)
  if (mark !== undefined) return new TextDecoder(mark).decode(page)
  const fromHeader = /charset\s*=\s*["']?([\w.:-]{2,40})/i.exec(contentType ?? '')?.[1]
  const head = Buffer.from(page.buffer, page.byteOffset, Math.min(page.byteLength, headBytes)).toString('latin1')
  const named = metaCharset.exec(head)?.[1]
  // A tag that can be read as ASCII is not UTF-16, whatever the tag says.
  const fromMeta = named !== undefined && /^utf-?16/i.test(named) ? 'utf-8' : named
  for (const label of [fromHeader, fromMeta, 'utf-8']) {
    const text = label === undefined ? undefined : decodeAs(label, page)
    if (text !== undefined) return text
  }
  return new TextDecoder('windows-1252').decode(page)
}

function markOf(page: Uint8Array): string | undefined {
  if (page[0] === 0xef && page[1] === 0xbb && page[2] === 0xbf) return 'utf-8'
  if (page[0] === 0xff && page[1] === 0xfe) return 'utf-16le'
  return page[0] === 0xfe && page[1] === 0xff ? 'utf-16be' : undefined
}

/** undefined: no such charset, or the bytes are not valid in the charset. */
function decodeAs(label: string, page: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(page)
  } catch {
    return undefined
  }
}
