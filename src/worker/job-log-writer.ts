/**
 * Stores the log lines of an incarnation's attempts: about once a second while attempts write lines, and before the outcome of an attempt,
 * so that a final job has all its kept lines. All attempts share a statement through a write batcher.
 *
 * Invariant: an attempt has at most one write under way. A process that is killed loses the lines since the last write, about a second's.
 * Lines that the database refuses are dropped; an outcome never fails because of lines.
 */
import type { AttemptLog, AttemptLogs } from '../execution/attempt-log.ts'
import type { Clock } from '../lib/clock.ts'
import type { OutcomeWriter } from './outcome-writer.ts'

const everyMs = 1000

/** The state of an attempt's lines. */
interface Stored {
  count: number
  writing: Promise<void> | undefined
}

export class JobLogWriter implements AttemptLogs {
  readonly #clock: Clock
  readonly #outcomeWriter: Pick<OutcomeWriter, 'log'>
  /** The attempts with lines that have not ended. */
  readonly #stored = new Map<AttemptLog, Stored>()
  readonly #changed = new Set<AttemptLog>()
  readonly #ending = new AbortController()
  #waits = false

  constructor({ clock, outcomeWriter }: { clock: Clock; outcomeWriter: Pick<OutcomeWriter, 'log'> }) {
    this.#clock = clock
    this.#outcomeWriter = outcomeWriter
  }

  changed(log: AttemptLog): void {
    this.#changed.add(log)
    if (this.#waits) return
    this.#waits = true
    void this.#clock.sleep(everyMs, this.#ending.signal).then(() => {
      this.#waits = false
      if (this.#ending.signal.aborted) return
      const due = [...this.#changed]
      this.#changed.clear()
      for (const each of due) void this.#write(each)
    })
  }

  /** Resolves when all lines of the attempt are stored or refused. Later lines are not kept. */
  async end(log: AttemptLog): Promise<void> {
    log.close()
    this.#changed.delete(log)
    const stored = this.#of(log)
    await stored.writing
    if (stored.count < log.count) await this.#write(log)
    this.#stored.delete(log)
  }

  stop(): void {
    this.#ending.abort('over')
  }

  #of(log: AttemptLog): Stored {
    const stored = this.#stored.get(log) ?? { count: 0, writing: undefined }
    this.#stored.set(log, stored)
    return stored
  }

  /** A write that is still under way is not joined by another; the lines since then wait for the next turn. */
  #write(log: AttemptLog): Promise<void> {
    const stored = this.#of(log)
    if (stored.writing !== undefined) {
      this.changed(log)
      return stored.writing
    }
    const { id, attempt, count, text: lines } = log
    // Lines of a write that failed are dropped, too: an outcome never fails because of lines.
    const done = () => {
      stored.count = count
      stored.writing = undefined
    }
    stored.writing = this.#outcomeWriter.log({ id, attempt, count, lines }).then(done, done)
    return stored.writing
  }
}
