/**
 * Reads the text of the ZIP formats of Office programs: DOCX, ODT (and ODS, ODP), XLSX. Runs in a separate process (read.ts). The XML is read
 * as a stream, so that neither a deep nor a long document needs memory.
 */
import { type Cell, FileTrouble, openWorkbook, openZip, readXml, type Zip } from '@retoma/office-files'
import { TextCollector } from './collect.ts'
import type { Parts } from './excerpt.ts'

const limits = { entries: 10_000, unpackedBytes: 512 * 1024 * 1024 }

/** null: a ZIP that is none of these formats. Throws FileTrouble. */
export async function readOffice(path: string): Promise<Parts | null> {
  const zip = await openZip(path, limits)
  const read = readerOf(zip)
  if (read === undefined) {
    if (zip.entries.some(({ isEncrypted }) => isEncrypted)) throw new FileTrouble({ trouble: 'encrypted' })
    return null
  }
  const text = new TextCollector()
  await read(zip, text)
  return text.parts()
}

function readerOf(zip: Zip): ((zip: Zip, text: TextCollector) => Promise<void>) | undefined {
  if (zip.has('word/document.xml')) return readWord
  if (zip.has('xl/workbook.xml')) return readSheets
  return zip.has('content.xml') && zip.has('mimetype') ? readOpenDocument : undefined
}

/** A letterhead is in a header, so headers come first. */
async function readWord(zip: Zip, text: TextCollector): Promise<void> {
  const named = (pattern: RegExp) => zip.entries.map(({ name }) => name).filter(name => pattern.test(name))
  const before = named(/^word\/header\d*\.xml$/i)
  const after = named(/^word\/(?:footnotes|endnotes|footer\d*)\.xml$/i)
  for (const name of [...before, 'word/document.xml', ...after]) await readWordPart(zip, name, text)
}

async function readWordPart(zip: Zip, name: string, text: TextCollector): Promise<void> {
  let isText = false
  // A drawing has its text twice: `Fallback` is for old programs.
  let fallbacks = 0
  await readXml(zip, name, {
    open(tag) {
      if (tag === 'Fallback') fallbacks++
      isText = tag === 't'
      if (fallbacks > 0) return
      if (tag === 'tab') text.add('\t')
      if (tag === 'br' || tag === 'cr') text.add('\n')
    },
    text(given) {
      if (isText && fallbacks === 0) text.add(given)
    },
    close(tag) {
      isText = false
      if (tag === 'Fallback') fallbacks--
      else if (tag === 'p' && fallbacks === 0) text.line()
    },
  })
}

const mostSpaces = 100

async function readOpenDocument(zip: Zip, text: TextCollector): Promise<void> {
  let depth = 0
  // Deleted text of tracked changes.
  let deleted = 0
  await readXml(zip, 'content.xml', {
    open(tag, attributes) {
      if (tag === 'tracked-changes') deleted++
      if (deleted > 0) return
      if (tag === 'p' || tag === 'h') depth++
      if (tag === 'tab' || tag === 'table-cell') text.add('\t')
      if (tag === 'line-break') text.add('\n')
      if (tag === 's') text.add(' '.repeat(Math.min(Number(attributes['text:c'] ?? 1) || 1, mostSpaces)))
    },
    text(given) {
      if (depth > 0 && deleted === 0) text.add(given)
    },
    close(tag) {
      if (tag === 'tracked-changes') deleted--
      if (deleted > 0 || (tag !== 'p' && tag !== 'h')) return
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
