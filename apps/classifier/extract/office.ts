/**
 * Reads the text of the ZIP formats of Office programs: DOCX, PPTX, XLSX, ODT (and ODS, ODP). Runs in a separate process (read.ts). The XML is read
 * as a stream, so that neither a deep nor a long document needs memory.
 */
import { type Cell, FileTrouble, openWorkbook, openZip, readXml, type Zip } from '@retoma/office-files'
import { TextCollector } from './collect.ts'
import type { Parts } from './excerpt.ts'

/** As many bytes as of a ZIP with documents: a ZIP that was refused there is told the same limit here. */
const limits = { entries: 10_000, unpackedBytes: 1024 * 1024 * 1024 }

/** null: a ZIP that is none of these formats. Throws FileTrouble. */
export async function readOffice(path: string): Promise<Parts | null> {
  const zip = await openZip(path, limits)
  try {
    const read = await readerOf(zip)
    if (read !== undefined) {
      const text = new TextCollector()
      await read(zip, text)
      return text.parts()
    }
    if (zip.entries.some(({ isEncrypted }) => isEncrypted)) throw new FileTrouble({ trouble: 'encrypted' })
    return null
  } finally {
    // The process reads further files: an open file would stay on the disk after its removal.
    zip.close()
  }
}

type Read = (zip: Zip, text: TextCollector) => Promise<void>

async function readerOf(zip: Zip): Promise<Read | undefined> {
  const main = await mainPart(zip)
  if (/^word\//i.test(main) && zip.has(main)) return (given, text) => readWord(given, main, text)
  if (zip.has('xl/workbook.xml')) return readSheets
  if (/^ppt\//i.test(main)) return readSlides
  if (!zip.has('mimetype')) return undefined
  if (await isLocked(zip)) throw new FileTrouble({ trouble: 'encrypted' })
  return zip.has('content.xml') ? readOpenDocument : undefined
}

/** The part that the package names as its document: Word on the web writes word/document2.xml. */
async function mainPart(zip: Zip): Promise<string> {
  let main: string | undefined
  if (zip.has('_rels/.rels'))
    await readXml(zip, '_rels/.rels', {
      open(tag, { Type, Target }) {
        if (tag === 'Relationship' && Type?.endsWith('/officeDocument')) main ??= Target?.replace(/^\//, '')
      },
    })
  return main ?? 'word/document.xml'
}

/** An OpenDocument file with a password has ordinary entries, with encrypted bytes. */
async function isLocked(zip: Zip): Promise<boolean> {
  const manifest = 'META-INF/manifest.xml'
  let isFound = false
  if (zip.has(manifest))
    await readXml(zip, manifest, {
      open(tag) {
        isFound ||= tag === 'encryption-data'
      },
    })
  return isFound
}

const namesIn = (zip: Zip, pattern: RegExp): string[] =>
  zip.entries.map(({ name }) => name).filter(name => pattern.test(name))

/** A letterhead is in a header, so headers come first. */
async function readWord(zip: Zip, main: string, text: TextCollector): Promise<void> {
  const before = namesIn(zip, /^word\/header\d*\.xml$/i)
  const after = namesIn(zip, /^word\/(?:footnotes|endnotes|footer\d*)\.xml$/i)
  for (const name of [...before, main, ...after]) await readParagraphs(zip, name, text)
}

async function readSlides(zip: Zip, text: TextCollector): Promise<void> {
  const number = (name: string) => Number(/\d+/.exec(name)?.[0])
  const slides = namesIn(zip, /^ppt\/slides\/slide\d+\.xml$/i)
  for (const name of slides.sort((one, other) => number(one) - number(other))) await readParagraphs(zip, name, text)
}

/** Deleted and moved text, tab stops, and `Fallback`: the text of a drawing once more, for old programs. */
const unread = new Set(['del', 'moveFrom', 'tabs', 'Fallback'])
const isOn = (value: string | undefined): boolean => value === undefined || !/^(?:0|false|off)$/.test(value)

async function readParagraphs(zip: Zip, name: string, text: TextCollector): Promise<void> {
  let isText = false
  let isRun = false
  let isHidden = false
  let skipped = 0
  await readXml(zip, name, {
    open(tag, attributes) {
      if (unread.has(tag)) skipped++
      isText = tag === 't'
      if (tag === 'r') {
        isRun = true
        isHidden = false
      }
      // The mark of a paragraph may be hidden too; the mark is no text.
      if (tag === 'vanish' && isRun) isHidden = isOn(attributes['w:val'])
      if (skipped > 0 || isHidden) return
      if (tag === 'tab') text.add('\t')
      if (tag === 'br' || tag === 'cr') text.add('\n')
      if (tag === 'noBreakHyphen') text.add('-')
    },
    text(given) {
      if (isText && !isHidden && skipped === 0) text.add(given)
    },
    close(tag) {
      isText = false
      if (unread.has(tag)) skipped--
      if (tag === 'r') {
        isRun = false
        isHidden = false
      }
      if (tag === 'p' && skipped === 0) text.line()
    },
  })
}

const mostSpaces = 100

/** Headers and footers are in the styles. */
async function readOpenDocument(zip: Zip, text: TextCollector): Promise<void> {
  const styles = 'styles.xml'
  if (zip.has(styles)) await readOpenPart(zip, styles, text, /^header/)
  await readOpenPart(zip, 'content.xml', text)
  if (zip.has(styles)) await readOpenPart(zip, styles, text, /^footer/)
}

/** `within`: only the text inside elements with such a name. */
async function readOpenPart(zip: Zip, name: string, text: TextCollector, within?: RegExp): Promise<void> {
  let depth = 0
  // Deleted text of tracked changes.
  let deleted = 0
  let inside = within === undefined ? 1 : 0
  await readXml(zip, name, {
    open(tag, attributes) {
      if (within?.test(tag)) inside++
      if (tag === 'tracked-changes') deleted++
      if (deleted > 0 || inside === 0) return
      if (tag === 'p' || tag === 'h') {
        // The paragraph of a note is inside the paragraph with its mark.
        if (depth > 0) text.line()
        depth++
      }
      if (tag === 'tab' || tag === 'table-cell') text.add('\t')
      if (tag === 'line-break') text.add('\n')
      if (tag === 's') text.add(' '.repeat(Math.min(Number(attributes['text:c'] ?? 1) || 1, mostSpaces)))
    },
    text(given) {
      if (depth > 0 && deleted === 0 && inside > 0) text.add(given)
    },
    close(tag) {
      if (within?.test(tag)) inside--
      if (tag === 'tracked-changes') deleted--
      if (deleted > 0 || inside === 0 || (tag !== 'p' && tag !== 'h')) return
      depth--
      text.line()
    },
  })
}

async function readSheets(zip: Zip, text: TextCollector): Promise<void> {
  const { sheets, rows } = await openWorkbook(zip)
  for (const { name, part } of sheets) {
    if (!zip.has(part)) continue
    text.line()
    text.add(`[${name}]\n`)
    for await (const some of rows(part))
      for (const { cells } of some) text.add(`${cells.map(shownCell).filter(Boolean).join(' | ')}\n`)
  }
}

function shownCell(cell: Cell | undefined): string {
  if (cell === undefined || typeof cell === 'string') return cell ?? ''
  return 'serial' in cell ? String(cell.serial) : cell.shown
}
