/**
 * Prints the output of the command line: results on stdout, everything else on stderr. With --json stdout carries only JSON documents,
 * errors included, so that a program reads a single stream and the exit code.
 *
 * Invariant: a closed reader (`| head`) ends nothing and raises nothing; text from the database cannot control the terminal. A stack is
 * shown only if LOG_LEVEL is debug.
 */
import { isRetomaError, type Language, RetomaError } from '../errors/errors.ts'
import { visibleText } from '../lib/values/visible-text.ts'
import { type CliMessages, messagesIn } from './messages/index.ts'

export interface Output {
  readonly language: Language
  readonly json: boolean
  readonly word: CliMessages
  /** The result of a command: a JSON document for a program, lines for a person. */
  answer(wire: unknown, lines: readonly string[]): void
  /** A message before the result, on stdout too; nothing for a program. */
  say(line: string): void
  /** A message for a person besides the result, on stderr; also with --json, because stdout stays clean. */
  note(line: string): void
  complain(error: RetomaError): void
}

export function createOutput({ language, json }: { language: Language; json: boolean }): Output {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreGoneReader)
  const print = (text: string) => void process.stdout.write(`${text}\n`)
  const note = (line: string) => void process.stderr.write(`${printable(line)}\n`)
  return {
    language,
    json,
    word: messagesIn[language],
    answer(wire, lines) {
      if (json) print(document(wire))
      else if (lines.length > 0) print(lines.map(printable).join('\n'))
    },
    say(line) {
      if (!json) print(printable(line))
    },
    note,
    complain(error) {
      const message = error.in(language)
      const facts = error.factsIn(language)
      if (json)
        print(document({ error: { code: error.code, message, ...(Object.keys(facts).length > 0 ? { facts } : {}) } }))
      else note(`${messagesIn[language].error} ${error.code}: ${message}`)
      if (process.env.LOG_LEVEL === 'debug') note(stackOf(error))
    },
  }
}

/** Turns anything thrown into an error with a code. */
export function asRetomaError(thrown: unknown): RetomaError {
  if (isRetomaError(thrown)) return thrown
  const problem = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)
  return new RetomaError('unexpected', { problem }, { cause: thrown })
}

/** Resolves when all output has left the process. */
export const allSaid = (): Promise<void> =>
  new Promise(resolve => process.stdout.write('', () => process.stderr.write('', () => resolve())))

/** Indented on a terminal, a single line for a program. */
const document = (wire: unknown): string =>
  JSON.stringify(wire, null, process.stdout.isTTY ? 2 : 0).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g,
    letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** EPIPE: a closed pipe. EIO: a closed terminal. */
function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
}

// Escape sequences in an error message or an input would otherwise recolour, retitle or rewrite the terminal.
export const printable = visibleText

function stackOf(error: Error): string {
  const own = error.stack ?? error.message
  return error.cause instanceof Error ? `${own}\ncaused by: ${stackOf(error.cause)}` : own
}
