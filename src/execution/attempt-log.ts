/**
 * Keeps the last lines that a handler writes with `ctx.log`, so that people find the lines with the job (worker/job-log-writer.ts stores
 * the lines).
 *
 * Invariant: at most 200 lines and 64,000 characters of an attempt are in memory. A line is a text without secrets from the moment of the
 * call on; later changes of the logged values do not show.
 */
import { factsWithoutStacks } from '../lib/logging/log.ts'
import { asText } from '../lib/values/json.ts'
import { withoutSecrets } from '../lib/values/redact.ts'

export type LogLineLevel = 'info' | 'warn' | 'error'

/** Stores the kept lines of attempts. */
export interface AttemptLogs {
  /** The attempt has written a line: the lines are stored soon. */
  changed(log: AttemptLog): void
}

const mostLines = 200
const mostCharacters = 64_000
const longestMessage = 1000
const longestFacts = 2000

export class AttemptLog {
  readonly id: string
  readonly attempt: number
  readonly #logs: AttemptLogs
  readonly #now: () => number
  #lines: string[] = []
  #characters = 0
  #count = 0
  #closed = false

  /** `now`: the clock of the database, in milliseconds. */
  constructor(of: { id: string; attempt: number }, now: () => number, logs: AttemptLogs) {
    this.id = of.id
    this.attempt = of.attempt
    this.#now = now
    this.#logs = logs
  }

  /** The number of lines so far, with the lines that are no longer kept. */
  get count(): number {
    return this.#count
  }

  /** The kept lines as a JSON list. */
  get text(): string {
    return `[${this.#lines.join()}]`
  }

  /** Lines of a handler that outlives its attempt are not kept. */
  add(level: LogLineLevel, facts: unknown, message: unknown): void {
    if (this.#closed) return
    const line = lineOf(Math.round(this.#now()), level, facts, message)
    this.#lines.push(line)
    this.#characters += line.length
    this.#count++
    while (this.#lines.length > mostLines || this.#characters > mostCharacters)
      this.#characters -= this.#lines.shift()!.length
    this.#logs.changed(this)
  }

  close(): void {
    this.#closed = true
  }
}

function lineOf(at: number, level: LogLineLevel, facts: unknown, message: unknown): string {
  const text = withoutSecrets(asText(message)).slice(0, longestMessage)
  const about = JSON.stringify(factsWithoutStacks(facts))
  if (about === '{}') return JSON.stringify([at, level, text])
  return about.length <= longestFacts
    ? `${JSON.stringify([at, level, text]).slice(0, -1)},${about}]`
    : JSON.stringify([at, level, text, { cut: about.slice(0, longestFacts) }])
}
