/**
 * Everything attempts write goes through here and is written together: while one flush is on its way the next gathers.
 *
 * Invariant: `settle` resolves with 'landed' once the outcome is in the database, with 'lost' once it is certain that the
 * lease is lost, and with 'left' when nothing could be written: the job is still ours and still running. What a reconnect
 * can cure is tried again, in order, for as long as it takes; a row that PostgreSQL refuses fails alone and never blocks
 * its neighbours.
 */
import { asText, cleanText } from '../core/json.ts'
import type { Failure } from '../core/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import { type Settle, settleJobs } from '../store/settle.ts'
import { isFaultOfRow } from '../store/trouble.ts'

export type Settled = 'landed' | 'lost' | 'left'

export interface Committer {
  settle(settle: Settle): Promise<Settled>
  /** From now on a failing database is no longer waited for: what is unwritten is left to the watchdog. */
  giveUp(): void
}

interface Entry {
  settle: Settle
  done: (settled: Settled) => void
}

const maxRows = 500
const maxLength = 8 * 1024 * 1024

export function createCommitter(options: { db: Db; worker: string; clock: Clock; log: Log }): Committer {
  const { db, worker, clock, log } = options
  const ending = new AbortController()
  const gathered: Entry[] = []
  let flushing = false

  async function flush(): Promise<void> {
    flushing = true
    while (gathered.length > 0) {
      await write(gathered.splice(0, fitting(gathered)))
    }
    flushing = false
  }

  async function write(entries: Entry[]): Promise<void> {
    for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
      try {
        const landed = await settleJobs(
          db,
          worker,
          entries.map(entry => entry.settle),
          clock.instant(),
        )
        for (const { settle, done } of entries) done(landed.has(settle) ? 'landed' : 'lost')
        return
      } catch (error) {
        if (isFaultOfRow(error)) return divide(entries, error)
        if (ending.signal.aborted) {
          log.warn(
            { jobs: entries.map(entry => entry.settle.id), err: error },
            'outcomes were not written; the watchdog gives these jobs back',
          )
          for (const entry of entries) entry.done('left')
          return
        }
        if (pause === 100)
          log.warn({ err: error, waiting: entries.length }, 'the database does not take outcomes; trying again')
        await clock.sleep(pause, ending.signal)
      }
    }
  }

  /**
   * PostgreSQL refuses a row: halves, until it is alone; then that attempt fails, and only that one. Where the failure is
   * refused as well, the job ends without it; it must not run again for ever because its end cannot be told.
   */
  async function divide(entries: Entry[], error: unknown): Promise<void> {
    const [only] = entries
    if (entries.length > 1) {
      const half = Math.ceil(entries.length / 2)
      await write(entries.slice(0, half))
      return write(entries.slice(half))
    }
    if (only === undefined) return
    const { id, attempt, outcome } = only.settle
    if (outcome.state === 'refused') {
      log.error({ job: id, attempt, err: error }, 'PostgreSQL takes no end of this job; it stays with this worker')
      return only.done('left')
    }
    if (outcome.state === 'failed' && outcome.failure.code === 'bad_value') {
      log.error(
        { job: id, attempt, err: error },
        'PostgreSQL refused the failure of this attempt; the job ends without it',
      )
      return write([{ ...only, settle: { id, attempt, outcome: { state: 'refused' } } }])
    }
    const message = cleanText(`bad_value: PostgreSQL refused the outcome: ${asText(error)}`)
    const failure: Failure = { what: 'error', message, code: 'bad_value', stack: null }
    return write([{ ...only, settle: { id, attempt, outcome: { state: 'failed', failure } } }])
  }

  return {
    settle: settle =>
      new Promise(resolve => {
        gathered.push({ settle, done: resolve })
        if (!flushing) void flush()
      }),
    giveUp: () => ending.abort(),
  }
}

/** How many of these make one flush: bounded by rows and by what they weigh, and always at least one. */
function fitting(entries: readonly Entry[]): number {
  let length = 0
  let count = 0
  while (count < Math.min(entries.length, maxRows)) {
    length += lengthOf(entries[count]!.settle)
    if (count > 0 && length > maxLength) break
    count++
  }
  return count
}

function lengthOf({ outcome }: Settle): number {
  if (outcome.state === 'succeeded') return outcome.result.length
  const failure = 'failure' in outcome ? outcome.failure : null
  return failure === null ? 0 : failure.message.length + (failure.stack?.length ?? 0)
}
