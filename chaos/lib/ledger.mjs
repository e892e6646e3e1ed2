/** The file all handlers append to: one write of one line, so lines of different processes never mix. */
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

  /** Lines by what happened: { id, attempt, worker, code, at }; the last line may be torn by a kill, never by a neighbour. */
  read() {
    const lines = { start: [], end: [], throw: [], snooze: [], abort: [], step: [] }
    for (const line of readFileSync(this.path, 'utf8').split('\n')) {
      const [what, id, attempt, worker, ...rest] = line.split(' ')
      if (lines[what] === undefined) continue
      // Of an abort its code, of a step its name.
      const code = what === 'abort' || what === 'step' ? rest[0] : undefined
      lines[what].push({ id, attempt: Number(attempt), worker, code, at: Number(rest.at(-1)) })
    }
    return lines
  }
}

export const nameOf = ({ id, attempt }) => `${id}/${attempt}`
