/**
 * Sends and receives wake-up hints by NOTIFY; polling stays the source of truth. A hint says "this queue has work"; a
 * lost hint costs the wait until the next poll and nothing else.
 *
 * Invariant: no hint is sent in a transaction that carries work, of the engine or of the caller: NOTIFY takes a
 * database-wide lock at commit, and every enqueue would wait for this lock.
 */

import type { Connection, Db } from '../../database/db.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/logging/log.ts'
import { withDeadline } from '../../lib/with-deadline.ts'

const channel = 'retoma_wake'
const notify = {
  name: 'wake_notify',
  text: `select pg_notify('${channel}', concat_ws(' ', queue, delay_ms, $3::text, batch)) from unnest($1::text[], $2::int[], $4::text[]) as q (queue, delay_ms, batch)`,
}

/** Replaces the batch in a hint: claims of the queue are no longer blocked. */
export const anew = '*'

/** Replaces the batch in a hint without a queue: the tokens have changed. */
export const doors = '@'

/** Replaces the batch in a hint: jobs of the queue that ran were cancelled or skipped, and their attempts have lost the lease. */
export const leaseEnds = '!'

/** Maximum delay of a hint: polling finds later jobs in time. */
const furthestMs = 60_000

/**
 * If this process has a free slot, it will probably claim the job. So other processes get the hint 20 ms later, and no
 * hint after the claim.
 */
const afterOursMs = 20

export interface WakeHints {
  /**
   * The queue has work now or in `delayMs`. `taken`: a worker of this process has a free slot for the work. `job`: the
   * work is exactly this job.
   */
  hint(queue: string, delayMs?: number, taken?: boolean, job?: string): void
  /** A worker of this process has claimed the job. */
  claimed(queue: string, job: string): void
  /** Claims of the batch are blocked: workers release its claimed jobs that have not started. */
  claimsBlocked(queue: string, batch: string): void
  /** Claims in the queue are no longer blocked. */
  claimsUnblocked(queue: string): void
  /** Running jobs of the queue were cancelled or skipped: workers abort the attempts without a lease. */
  leasesEnded(queue: string): void
  /** The tokens have changed. */
  doors(): void
  /** Resolves once no hint is under way. */
  settled(): Promise<void>
}

/**
 * A queue whose hint is not sent yet: `jobs` that a worker of this process may claim first; `others`: there may be more
 * work.
 */
interface Ready {
  jobs: Set<string>
  others: boolean
}

/**
 * Sends the hints of a process. Hints within a short time share a statement, with at most two per queue: work is ready,
 * and the delay of the first later job. A worker that knows this delay finds the next job then.
 */
export function createWakeHints(given: { db: Db; clock: Clock; log: Log; sender: string }): WakeHints {
  const { db, clock, log, sender } = given
  let ready = new Map<string, Ready>()
  let later = new Map<string, number>()
  let batches: { queue: string; batch: string }[] = []
  let sending: Promise<void> | undefined
  let hurry = new AbortController()

  async function send(waitMs: number): Promise<void> {
    if (waitMs > 0) await clock.sleep(waitMs, hurry.signal)
    while (ready.size > 0 || later.size > 0 || batches.length > 0) {
      const hints = [
        ...Array.from(ready.keys(), queue => ({ queue, delayMs: 0, batch: null })),
        ...Array.from(later, ([queue, delayMs]) => ({ queue, delayMs, batch: null })),
        ...batches.map(each => ({ ...each, delayMs: 0 })),
      ]
      ready = new Map()
      later = new Map()
      batches = []
      const column = <K extends keyof (typeof hints)[number]>(name: K) => hints.map(each => each[name])
      await db
        .run(notify, [column('queue'), column('delayMs'), sender, column('batch')], 5000)
        .catch(error => log.debug({ err: error }, 'cannot send a wake-up; a poll finds the job'))
    }
    sending = undefined
    hurry = new AbortController()
  }
  function noteReady(queue: string, job: string | undefined): void {
    const known = ready.get(queue) ?? { jobs: new Set(), others: false }
    if (job === undefined) known.others = true
    else known.jobs.add(job)
    ready.set(queue, known)
  }
  function note(queue: string, batch: string): void {
    batches.push({ queue, batch })
    if (sending !== undefined) hurry.abort()
    sending ??= send(0)
  }
  return {
    hint(queue, delayMs = 0, taken = false, job = undefined) {
      if (delayMs > furthestMs) return
      if (delayMs <= 0) noteReady(queue, taken ? job : undefined)
      else later.set(queue, Math.min(later.get(queue) ?? furthestMs, Math.ceil(delayMs)))
      if (!taken && sending !== undefined && !hurry.signal.aborted) hurry.abort()
      sending ??= send(taken ? afterOursMs : 0)
    },
    claimed(queue, job) {
      const known = ready.get(queue)
      if (known === undefined || !known.jobs.delete(job)) return
      if (known.jobs.size === 0 && !known.others) ready.delete(queue)
    },
    claimsBlocked: note,
    claimsUnblocked: queue => note(queue, anew),
    leasesEnded: queue => note(queue, leaseEnds),
    doors: () => note('', doors),
    async settled() {
      hurry.abort()
      await sending
    },
  }
}

const answerMs = 10_000
const disconnectMs = 1000
const late = () => new Error('the database does not answer')

export interface WakeListener {
  stop(): Promise<void>
}

/** Poll interval if hints cannot arrive: an idle process still costs about one query per second. */
const withoutHintsMs = 1000
const noHints =
  'a pooler shares the sessions of the database, so no hints arrive: workers check for jobs every second; DATABASE_DIRECT_URL, past the pooler, brings them at once'

/** The queue of a hint. With `held` the hint is no work, but a batch with blocked claims, `anew`, `leaseEnds` or `doors`. */
export type WakeHint = (queue?: string, delayMs?: number, held?: string) => void

/**
 * Calls `woken` with the queue of every hint of other processes, and with undefined after each (re)connect, because hints
 * may have been missed. Behind a pooler that shares sessions no hint would arrive, and LISTEN would stay in a session of
 * another client.
 */
export function listen(given: {
  db: Db
  clock: Clock
  log: Log
  /** The sender of this process's own hints, which its workers already know. */
  sender: string
  woken: WakeHint
}): WakeListener {
  const { db, clock, log, sender, woken } = given
  const ending = new AbortController()
  const ended = new Promise<void>(resolve => ending.signal.addEventListener('abort', () => resolve()))

  async function keep(): Promise<void> {
    let pause = 500
    while (!ending.signal.aborted) {
      let client: Connection | undefined
      try {
        client = await db.session()
        if (client === undefined) return await poll()
        const lost = new Promise<void>(resolve => client?.once('end', resolve))
        client.on('notification', message => {
          const [queue, delay, by, batch] = (message.payload ?? '').split(' ')
          if (by !== sender) woken(queue || undefined, Number(delay) || 0, batch)
        })
        await withDeadline(client.query(`listen ${channel}`), answerMs, late)
        pause = 500
        woken()
        await Promise.race([lost, ended])
      } catch (error) {
        log.debug({ err: error }, 'cannot listen for wake-ups; polling continues')
      } finally {
        if (client) await withDeadline(client.end(), disconnectMs, late).catch(() => client?.destroy())
      }
      if (!ending.signal.aborted) await clock.sleep(pause, ending.signal)
      pause = Math.min(pause * 2, 10_000)
    }
  }

  async function poll(): Promise<void> {
    log.info({}, noHints)
    while (!ending.signal.aborted) {
      woken()
      await clock.sleep(withoutHintsMs, ending.signal)
    }
  }
  const kept = keep()
  return {
    stop() {
      ending.abort()
      return kept
    },
  }
}
