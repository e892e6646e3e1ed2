/** A terminal as far as `src/cli/format/terminal-screen.ts` needs one: what a person would see after these bytes, and how it was left. */

export interface Seen {
  /** The text of the screen, without the empty lines at the end. */
  lines: string[]
  /** The lines at every moment the cursor was shown again: each draw. */
  frames: string[][]
  cursor: { row: number; column: number }
  /** The cursor is shown, and long lines wrap. */
  usual: boolean
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is steered by
const token = /\u001b\[(\??\d*)([A-Za-z])|([\s\S])/gu

export function seenOn(text: string, { rows = 24, columns = 80 } = {}): Seen {
  const screen = Array.from({ length: rows }, () => '')
  const off = new Set<string>()
  const frames: string[][] = []
  let row = 0
  let column = 0
  const lines = () => {
    const all = screen.map(line => line.trimEnd())
    return all.slice(0, all.findLastIndex(line => line !== '') + 1)
  }
  /** As its driver does it: a new line begins at the left. */
  const newLine = () => {
    column = 0
    if (row < rows - 1) row++
    else screen.push(...screen.splice(0, 1).fill(''))
  }
  for (const [, given = '', command, letter = ''] of text.matchAll(token)) {
    if (command === 'A') row = Math.max(row - Number(given || 1), 0)
    else if (command === 'K' || command === 'J') {
      screen[row] = [...screen[row]!].slice(0, column).join('')
      if (command === 'J') screen.fill('', row + 1)
    } else if (command === 'l') off.add(given)
    else if (command === 'h') {
      off.delete(given)
      if (given === '?25') frames.push(lines())
    } else if (command !== undefined) throw new Error(`this terminal does not know ${given}${command}`)
    else if (letter === '\r') column = 0
    else if (letter === '\n') newLine()
    else {
      if (column === columns && !off.has('?7')) newLine()
      const line = [...screen[row]!.padEnd(column)]
      line[Math.min(column, columns - 1)] = letter
      screen[row] = line.join('')
      column = Math.min(column + 1, columns)
    }
  }
  return { lines: lines(), frames, cursor: { row, column }, usual: off.size === 0 }
}
