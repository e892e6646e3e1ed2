/** Formats columns for a terminal: text to the left, numbers to the right; a column without values is left out. */
import { visibleLine } from '../../lib/values/visible-text.ts'

/** `right`: a formatted number, such as 12,345. */
export type Cell = string | number | { right: string }

/** `fit`: the maximum length of a line; longer lines are cut. */
export function table(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  { fit = Number.POSITIVE_INFINITY } = {},
): string[] {
  const text = (cell: Cell | undefined) => visibleLine(typeof cell === 'object' ? cell.right : String(cell ?? ''))
  const shown = headings.map((_, column) => column).filter(column => rows.some(row => text(row[column]) !== ''))
  const lines = [headings, ...rows].map((row: readonly Cell[]) => shown.map(column => text(row[column])))
  const widths = shown.map((_, index) => Math.max(...lines.map(line => width(line[index]!))))
  const numeric = shown.map(column => rows.every(row => typeof row[column] !== 'string'))
  return lines.map(line =>
    cut(
      line
        .map((cell, index) => (numeric[index] ? padStart(cell, widths[index]!) : padEnd(cell, widths[index]!)))
        .join('  ')
        .trimEnd(),
      fit,
    ),
  )
}

/** `label  value` lines; a value of several lines continues below. */
export function fields(pairs: readonly (readonly [label: string, value: string])[]): string[] {
  const left = Math.max(...pairs.map(([label]) => width(label)))
  return pairs.flatMap(([label, value]) => {
    const [first = '', ...rest] = value.split('\n')
    return [`${padEnd(label, left)}  ${first}`, ...rest.map(line => `${' '.repeat(left)}  ${line}`)]
  })
}

/** The first line, cut to a length. */
export function brief(text: string, longest = 60): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > longest || line !== text ? `${line.slice(0, longest - 1)}…` : line
}

/** Cuts to a length, with … at the end. */
export const cut = (line: string, longest: number): string =>
  width(line) > longest ? `${[...line].slice(0, longest - 1).join('')}…` : line

/**
 * Breaks between words at the maximum length; a longer word gets a line of its own. A no-break space keeps words together and is printed
 * as a space.
 */
export function wrap(text: string, longest: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && width(last) + 1 + width(word) <= longest) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines.map(line => line.replaceAll('\u00a0', ' '))
}

const width = (text: string) => [...text].length
const padEnd = (text: string, to: number) => text + ' '.repeat(to - width(text))
const padStart = (text: string, to: number) => ' '.repeat(to - width(text)) + text
