/** Asks a person a yes-or-no question on the terminal. The question goes to stderr, so that stdout has only the result. */
import { createInterface } from 'node:readline'

/** True if a person can read a question on stderr and type the answer. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true

/** True for y, yes, s or sim. Every other line, the end of the input and an abort mean no. */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  process.stderr.write(`${question} `)
  // The terminal edits the line and sends Ctrl-C as a signal, as for every other command.
  const lines = createInterface({ input: process.stdin, terminal: false, signal })
  try {
    for await (const line of lines) return /^(y|yes|s|sim)$/i.test(line.trim())
    return false
  } finally {
    lines.close()
  }
}
