/**
 * Chooses the text of a document for the AI: the whole of a short document, the beginning and the end of a long document, about 15,000
 * tokens. The beginning and the end show the category, and every model accepts this length. Pure.
 *
 * Invariant: the end is the end of the document itself, and the note names every part left out.
 */

export const headLength = 40_000
export const tailLength = 8000

/** A document as it was read. */
export interface Parts {
  head: string
  /** null: `head` is the whole text. */
  tail: string | null
  /** The number of omitted characters between the two, besides the characters of whole pages. */
  omitted: number
}

export interface PdfParts extends Parts {
  pages: number
  /** The pages that the execution chooses; null: all. */
  chosen: number[] | null
  /** The first and the last unread page between the two. */
  leftOut: [from: number, to: number] | null
  /** Pages that could not be read. */
  unreadable: number[]
  /** Long pages not read to the end. */
  unfinished: number[]
  /** Read pages that are scans, or probably scans: OCR may find more text (ocr.ts). */
  scans: number[]
}

/** `note`: the remark for a document that was not read whole. */
export interface Excerpt {
  text: string
  note: string | null
}

/** Cuts a whole text. */
export function partsOf(text: string): Parts {
  const omitted = text.length - headLength - tailLength
  if (omitted <= 0) return { head: text, tail: null, omitted: 0 }
  return { head: text.slice(0, headLength), tail: text.slice(-tailLength), omitted }
}

export function excerptOf(parts: Parts | PdfParts): Excerpt {
  const { head, tail, omitted } = parts
  const pages = 'pages' in parts ? parts : null
  const isCut = tail !== null || (pages !== null && pages.leftOut !== null)
  const note = [
    pages === null ? '' : chosenNote(pages),
    isCut ? longNote(omitted, pages) : '',
    pages === null ? '' : troubleNote(pages),
  ]
  const text =
    tail === null ? head : `${head.toWellFormed()}\n\n[… ${gapOf(omitted, pages)} …]\n\n${tail.toWellFormed()}`
  return { text, note: note.filter(Boolean).join(' ') || null }
}

/** The remark for a document of which only chosen pages count. */
export function chosenNote({ chosen, pages }: Pick<PdfParts, 'chosen' | 'pages'>): string {
  if (chosen === null || chosen.length >= pages) return ''
  const one = chosen.length === 1
  return `${one ? 'Só a página' : 'Só as páginas'} ${rangesOf(chosen)}, de ${number(pages)}, ${one ? 'conta' : 'contam'}, pela escolha de páginas.`
}

/** `1 a 3 e 7`, `1, 4, 6 a 9 e mais 3`. */
function rangesOf(pages: readonly number[]): string {
  const ranges: [number, number][] = []
  for (const page of pages) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === page - 1) last[1] = page
    else ranges.push([page, page])
  }
  return joined(
    ranges.map(([from, to]) => (from === to ? number(from) : `${number(from)} a ${number(to)}`)),
    ranges.length,
  )
}

const gapOf = (omitted: number, pages: PdfParts | null): string =>
  pages?.leftOut
    ? `${rangeOf(pages.leftOut)} ${isOne(pages.leftOut) ? 'omitida' : 'omitidas'}`
    : `${characters(omitted)} ${omitted === 1 ? 'omitido' : 'omitidos'}`

function longNote(omitted: number, pages: PdfParts | null): string {
  if (!pages?.leftOut)
    return `Documento longo: ${characters(omitted)} do meio ${omitted === 1 ? 'não foi lido' : 'não foram lidos'}.`
  const { leftOut } = pages
  const beside = omitted === 0 ? '' : `, nem ${characters(omitted)} das páginas vizinhas`
  const notRead = isOne(leftOut) ? 'não foi lida' : 'não foram lidas'
  return `Documento longo: ${isOne(leftOut) ? 'a' : 'as'} ${rangeOf(leftOut)}, de ${number(pages.pages)}, ${notRead}${beside}.`
}

const isOne = ([from, to]: readonly [number, number]): boolean => from === to

const rangeOf = ([from, to]: readonly [number, number]): string =>
  from === to ? `página ${number(from)}` : `páginas ${number(from)} a ${number(to)}`

function troubleNote({ unreadable, unfinished }: PdfParts): string {
  const several = unreadable.length > 1
  const failed =
    unreadable.length === 0
      ? ''
      : `${several ? 'As páginas' : 'A página'} ${listOf(unreadable)} ${several ? 'não puderam ser lidas' : 'não pôde ser lida'}.`
  const long =
    unfinished.length === 0
      ? ''
      : `${unfinished.length > 1 ? 'As páginas' : 'A página'} ${listOf(unfinished)} ${unfinished.length > 1 ? 'são longas demais e não foram lidas' : 'é longa demais e não foi lida'} até o fim.`
  return [failed, long].filter(Boolean).join(' ')
}

/** The remark for a text by OCR. `left`: scanned pages that were not read. */
export function ocrNote(
  { pages, confidence }: { pages: number; confidence: number | null },
  left: readonly number[],
): string {
  const sure = confidence === null ? '' : `, com confiança de ${number(Math.round(confidence * 100))} %`
  const read = `Texto lido por OCR em ${pages === 1 ? '1 página' : `${number(pages)} páginas`}${sure}.`
  return left.length === 0 ? read : `${read} ${unreadScans(left)}.`
}

const unreadScans = (left: readonly number[]): string => {
  const several = left.length > 1
  return `${several ? 'As páginas' : 'A página'} ${listOf(left)} ${several ? 'são digitalizadas e não foram lidas' : 'é digitalizada e não foi lida'}`
}

/** The remark for scanned pages beside a text, if OCR failed. */
export const ocrFailureNote = (scans: readonly number[], reason: string): string =>
  `${unreadScans(scans)}: ${reason.replace(/\.$/, '')}.`

const mostListed = 10

/** `7`, `7 e 9`, `7, 9 e 12`, `1, 2, …, 10 e mais 3`. */
function listOf(pages: readonly number[]): string {
  const shown = [...pages].sort((one, other) => one - other).slice(0, mostListed)
  return joined(shown.map(number), pages.length)
}

function joined(all: readonly string[], count: number): string {
  const words = all.slice(0, mostListed)
  const more = count - words.length
  if (more > 0) return `${words.join(', ')} e mais ${number(more)}`
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} e ${words.at(-1)}`
}

const characters = (many: number): string => `${number(many)} ${many === 1 ? 'caractere' : 'caracteres'}`
const number = (value: number): string => value.toLocaleString('pt-BR')
