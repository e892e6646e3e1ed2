/** The file to which all handlers append: a single write for a line, so lines of different processes never mix. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

export function ledgerWriter(path) {
  const file = openSync(path, 'a')
  return (what, ...facts) => writeSync(file, `${what} ${facts.join(' ')} ${process.pid} ${Date.now()}\n`)
}

export class Ledger {
  constructor(path) {
    this.path = path
    closeSync(openSync(path, 'a'))
  }

  /** Returns the lines by event: { id, attempt, worker, code, at }. A kill may cut the last line; another process cannot. */
  read() {
    const lines = { start: [], end: [], throw: [], snooze: [], abort: [], step: [] }
    for (const line of readFileSync(this.path, 'utf8').split('\n')) {
      const [what, id, attempt, worker, ...rest] = line.split(' ')
      if (lines[what] === undefined) continue
      // The code of an abort, or the name of a step.
      const code = what === 'abort' || what === 'step' ? rest[0] : undefined
      lines[what].push({ id, attempt: Number(attempt), worker, code, at: Number(rest.at(-1)) })
    }
    return lines
  }
}

export const nameOf = ({ id, attempt }) => `${id}/${attempt}`
