/** Text in columns for a terminal: left aligned, numbers right; a column that is empty in every row is left out. */

export type Cell = string | number

export function table(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const shown = headings.map((_, column) => column).filter(column => rows.some(row => String(row[column] ?? '') !== ''))
  const lines = [headings, ...rows].map(row => shown.map(column => row[column] ?? ''))
  const widths = shown.map((_, index) => Math.max(...lines.map(line => width(String(line[index])))))
  const numeric = shown.map(column => rows.every(row => typeof row[column] === 'number'))
  return lines.map(line =>
    line
      .map((cell, index) =>
        numeric[index] ? padStart(String(cell), widths[index]!) : padEnd(String(cell), widths[index]!),
      )
      .join('  ')
      .trimEnd(),
  )
}

/** `label  value` lines; a value of several lines goes on below itself. */
export function fields(pairs: readonly (readonly [label: string, value: string])[]): string[] {
  const left = Math.max(...pairs.map(([label]) => width(label)))
  return pairs.flatMap(([label, value]) => {
    const [first = '', ...rest] = value.split('\n')
    return [`${padEnd(label, left)}  ${first}`, ...rest.map(line => `${' '.repeat(left)}  ${line}`)]
  })
}

/** One line, cut to a length. */
export function brief(text: string, longest = 60): string {
  const [line = ''] = text.split('\n', 1)
  return line.length > longest || line !== text ? `${line.slice(0, longest - 1)}…` : line
}

const width = (text: string) => [...text].length
const padEnd = (text: string, to: number) => text + ' '.repeat(to - width(text))
const padStart = (text: string, to: number) => ' '.repeat(to - width(text)) + text
