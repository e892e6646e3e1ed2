/**
 * Reads the choice of pages of a project or an execution: `1-3,7,-1` are the pages 1 to 3, page 7 and the last page. A negative number counts
 * from the end. Pure.
 *
 * Invariant: a choice is stored in one form, without blanks, so that equal choices give equal settings.
 */

/** Characters of a choice. */
export const longestSelection = 200
const largestPage = 100_000

type Range = readonly [from: number, to: number]

const item = /^(-?\d{1,6})(?:-(-?\d{1,6}))?$/

/** Returns the stored form; undefined: the text is no choice of pages. */
export function pageSelectionOf(given: string): string | undefined {
  const text = given.replace(/\s+/g, '')
  return text.length <= longestSelection && rangesOf(text) !== undefined ? text : undefined
}

function rangesOf(text: string): Range[] | undefined {
  const ranges: Range[] = []
  for (const each of text.split(',')) {
    const [, first, second] = item.exec(each) ?? []
    if (first === undefined) return undefined
    const [from, to] = [Number(first), Number(second ?? first)]
    if ([from, to].some(page => page === 0 || Math.abs(page) > largestPage)) return undefined
    // Two ends on the same side have an order; `2--1` depends on the number of pages.
    if (from > to && from > 0 === to > 0) return undefined
    ranges.push([from, to])
  }
  return ranges
}

/** The chosen pages of a document, in order and each once. null: all pages. */
export function chosenPages(selection: string | null, pages: number): number[] {
  const all = Array.from({ length: pages }, (_, n) => n + 1)
  if (selection === null) return all
  const fromEnd = (page: number) => (page < 0 ? pages + 1 + page : page)
  const ranges = (rangesOf(selection) ?? []).map(([from, to]) => [fromEnd(from), fromEnd(to)] as const)
  return all.filter(page => ranges.some(([from, to]) => from <= page && page <= to))
}
