/**
 * NOTIFY as a hint, polling as the truth. A hint says "this queue has something"; one that is lost costs a poll's wait
 * and nothing else.
 *
 * Invariant: never sent in a transaction that carries work, ours or the caller's: NOTIFY takes a database-wide lock at
 * commit, and every enqueue would stand in that line.
 */
import type { Clock } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { Log } from '../lib/log.ts'
import type { Connection, Db } from './db.ts'

const channel = 'retoma_wake'
const notify = {
  name: 'wake_notify',
  text: `select pg_notify('${channel}', concat_ws(' ', queue, delay_ms, $3::text, batch)) from unnest($1::text[], $2::int[], $4::text[]) as q (queue, delay_ms, batch)`,
}

/** In the place of a batch: what was held is no more. */
export const anew = '*'

/** Likewise, of no queue: who may come in has changed. */
export const doors = '@'

/** A hint is for later by at most this: what is further off, polling finds in time. */
const furthestMs = 60_000

/** With a free slot here the work is as good as taken: others are told a little later, and not at all once it is. */
const afterOursMs = 20

export interface Hinter {
  /**
   * There is work in that queue: now, or in so many milliseconds. `taken`: a worker here has a free slot for it. `job`: it is this
   * one and no other.
   */
  hint(queue: string, delayMs?: number, taken?: boolean, job?: string): void
  /** A worker here has claimed it. */
  claimed(queue: string, job: string): void
  /** Nothing more of that batch may start: what workers hold of it and have not begun goes back. */
  held(queue: string, batch: string): void
  /** What was held in that queue is no more. */
  unheld(queue: string): void
  /** Who may come in has changed. */
  doors(): void
  /** Resolves when no hint is on its way. */
  settled(): Promise<void>
}

/** Of a queue, until others are told: jobs that a worker here may take before, and whether there may be more. */
interface Ready {
  jobs: Set<string>
  others: boolean
}

/**
 * Sends hints of one process: many in a short time are one statement, with two of each queue: that there is work, and when the
 * first that is for later is due. Who knows that looks for the next one then.
 */
export function createHinter(given: { db: Db; clock: Clock; log: Log; sender: string }): Hinter {
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
        .catch(error => log.debug({ err: error }, 'a hint was not sent; polling finds the job'))
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
    held: note,
    unheld: queue => note(queue, anew),
    doors: () => note('', doors),
    async settled() {
      hurry.abort()
      await sending
    },
  }
}

const answerMs = 10_000
const goodbyeMs = 1000
const late = () => new Error('the database does not answer')

export interface Listener {
  stop(): Promise<void>
}

/** How often to ask where no hint can arrive: an idle process still costs about one query a second. */
const withoutHintsMs = 1000
const noHints =
  'a pooler shares the sessions of the database, so no hints arrive: jobs are looked for every second; DATABASE_DIRECT_URL, past the pooler, brings them at once'

/** Of a queue; with `held` it is no work, but a batch of which nothing more may start, `anew`, or `doors`. */
export type Woken = (queue?: string, delayMs?: number, held?: string) => void

/**
 * Calls `woken` with the queue of every hint of others, and with undefined after each (re)connect, when hints may have been missed.
 * Through a pooler that shares sessions none would come, and LISTEN would be left behind in a session of somebody else.
 */
export function listen(given: {
  db: Db
  clock: Clock
  log: Log
  /** Who sends our own hints: workers here know of those already. */
  sender: string
  woken: Woken
}): Listener {
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
        log.debug({ err: error }, 'listening for hints failed; polling goes on')
      } finally {
        if (client) await withDeadline(client.end(), goodbyeMs, late).catch(() => client?.destroy())
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
