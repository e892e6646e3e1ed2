/**
 * Makes PDFs for tests: good PDFs with a given text, and the parts of hostile PDFs. Only the parts needed by a reader: objects, a
 * cross-reference table, a trailer.
 */
import { deflateSync } from 'node:zlib'

/** The text between `n 0 obj` and `endobj`. */
export type PdfObject = string | Buffer

/** Lets the widest letters of a line fit on the page: text outside the page is not read. */
const lettersOfLine = 75
const linesOfPage = 50
const latin = (text: string) => Buffer.from(text, 'latin1')

/** A PDF with the text; each item of a list begins a page. Long lines are broken between words, and long pages after 50 lines. */
export function goodPdf(text: string | readonly string[]): Buffer {
  const parts = typeof text === 'string' ? [text] : text
  return writePdf(documentOf(parts.flatMap(pagesOf).map(page => streamOf(latinText(page)))))
}

function pagesOf(text: string): string[] {
  const lines = text.split('\n').flatMap(linesOf)
  const pages = Array.from({ length: Math.ceil(lines.length / linesOfPage) }, (_, page) => page * linesOfPage)
  return pages.map(from => lines.slice(from, from + linesOfPage).join('\n'))
}

function linesOf(line: string): string[] {
  const lines: string[] = []
  for (let left = line; ; ) {
    if (left.length <= lettersOfLine) return [...lines, left]
    const space = left.lastIndexOf(' ', lettersOfLine)
    const at = space > 0 ? space : lettersOfLine
    lines.push(left.slice(0, at))
    left = left.slice(space > 0 ? at + 1 : at)
  }
}

/** Catalogue, page tree, font, and for each page the page object and the content. */
export function documentOf(contents: readonly PdfObject[], more: { page?: string; font?: string } = {}): PdfObject[] {
  const { page = '', font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>' } = more
  const kids = contents.map((_, index) => `${4 + 2 * index} 0 R`)
  const box = '/MediaBox [0 0 595 842]'
  return [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${kids.length} >>`,
    font,
    ...contents.flatMap((content, index) => [
      `<< /Type /Page /Parent 2 0 R ${box} /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R ${page} >>`,
      content,
    ]),
  ]
}

/** A stream, plain or deflated. */
export function streamOf(content: string | Buffer, { deflated = false, dictionary = '' } = {}): Buffer {
  const plain = typeof content === 'string' ? latin(content) : content
  const bytes = deflated ? deflateSync(plain) : plain
  const filter = deflated ? '/Filter /FlateDecode' : ''
  return Buffer.concat([
    latin(`<< /Length ${bytes.length} ${filter} ${dictionary} >>\nstream\n`),
    bytes,
    latin('\nendstream'),
  ])
}

/** The operators for a text, line by line. */
export function latinText(text: string): string {
  const lines = text.split('\n')
  return `BT /F1 7 Tf 14 TL 50 800 Td\n${lines.map(line => `${shown(line)} Tj T*`).join('\n')}\nET`
}

/** `trailer`: further entries. The root is the first object. */
export function writePdf(objects: readonly PdfObject[], { trailer = '' } = {}): Buffer {
  const parts: Buffer[] = [latin('%PDF-1.7\n%\xE2\xE3\xCF\xD3\n')]
  const offsets: number[] = []
  let at = parts[0]!.length
  const add = (part: Buffer) => {
    parts.push(part)
    at += part.length
  }
  for (const [index, object] of objects.entries()) {
    offsets.push(at)
    add(Buffer.concat([latin(`${index + 1} 0 obj\n`), typeof object === 'string' ? latin(object) : object]))
    add(latin('\nendobj\n'))
  }
  const rows = offsets.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`)
  const size = objects.length + 1
  add(
    latin(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${at}\n%%EOF\n`,
    ),
  )
  return Buffer.concat(parts)
}

/** Windows-1252 has letters from 0x80 to 0x9F; latin-1 has none there. */
const windows = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'

function shown(line: string): string {
  const codes = Array.from(line, letter => {
    const code = letter.codePointAt(0)!
    if (code < 0x80 || (code >= 0xa0 && code <= 0xff)) return code
    const place = letter === ' ' ? -1 : windows.indexOf(letter)
    return place === -1 ? 0x3f : 0x80 + place
  })
  const text = codes.map(code =>
    code < 0x20 || code > 0x7e || '()\\'.includes(String.fromCharCode(code))
      ? `\\${code.toString(8).padStart(3, '0')}`
      : String.fromCharCode(code),
  )
  return `(${text.join('')})`
}
