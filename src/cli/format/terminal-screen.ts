/**
 * Redraws lines in the same place of a terminal.
 *
 * Invariant: between two draws the terminal is in its normal state: the cursor visible, at the beginning of a line, with wrapping on. So
 * if the process ends or stops, even by SIGKILL, nothing needs repair. A draw is a single write.
 */

import { printable } from '../output.ts'
import { cut } from './text-table.ts'

export interface Terminal {
  readonly columns?: number | undefined
  readonly rows?: number | undefined
  write(text: string): unknown
}

export interface Screen {
  draw(lines: readonly string[]): void
  /** Removes the drawn lines; the next output takes their place. */
  clear(): void
  /** Keeps the drawn lines; removes a typed key beside the cursor, such as ^C. */
  leave(): void
}

const sequence = '\u001b['
const quiet = `${sequence}?25l${sequence}?7l`
const usual = `${sequence}?7h${sequence}?25h`
const restOfLine = `${sequence}K`
const restOfScreen = `${sequence}J`

export function createScreen(terminal: Terminal): Screen {
  let drawn = 0
  const top = () => `\r${drawn > 0 ? `${sequence}${drawn}A` : ''}`
  return {
    draw(lines) {
      const { columns = 80, rows = 24 } = terminal
      // Lines that scroll off the top cannot be redrawn.
      const shown = lines.slice(0, Math.max(rows - 1, 1)).map(line => cut(oneLine(line), Math.max(columns - 1, 1)))
      const text = shown.map(line => `${line}${restOfLine}\n`).join('')
      terminal.write(`${quiet}${top()}${text}${restOfScreen}${usual}`)
      drawn = shown.length
    },
    clear() {
      terminal.write(`${top()}${restOfScreen}`)
      drawn = 0
    },
    leave() {
      terminal.write(`\r${restOfScreen}`)
    },
  }
}

const oneLine = (text: string): string => printable(text).replace(/[\n\t]/g, ' ')
