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
  text: `select pg_notify('${channel}', queue || ' ' || delay_ms) from unnest($1::text[], $2::int[]) as q (queue, delay_ms)`,
}

/** A hint is for later by at most this: what is further off, polling finds in time. */
const furthestMs = 60_000

export interface Hinter {
  /** There is work in that queue: now, or in so many milliseconds. */
  hint(queue: string, delayMs?: number): void
  /** Resolves when no hint is on its way. */
  settled(): Promise<void>
}

/** Sends hints of one process: many in a short time are one statement, the earliest of each queue. */
export function createHinter(db: Db, log: Log): Hinter {
  let pending = new Map<string, number>()
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    while (pending.size > 0) {
      const hints = pending
      pending = new Map()
      await db
        .run(notify, [[...hints.keys()], [...hints.values()]], 5000)
        .catch(error => log.debug({ err: error }, 'a hint was not sent; polling finds the job'))
    }
    sending = undefined
  }
  return {
    hint(queue, delayMs = 0) {
      if (delayMs > furthestMs) return
      pending.set(queue, Math.min(pending.get(queue) ?? furthestMs, Math.ceil(delayMs)))
      sending ??= send()
    },
    settled: async () => sending,
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

/**
 * Calls `woken` with the queue of every hint, and with undefined after each (re)connect, when hints may have been missed.
 * Through a pooler that shares sessions none would come, and LISTEN would be left behind in a session of somebody else.
 */
export function listen(db: Db, clock: Clock, log: Log, woken: (queue?: string, delayMs?: number) => void): Listener {
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
          const [queue, delay] = (message.payload ?? '').split(' ')
          woken(queue || undefined, Number(delay) || 0)
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
