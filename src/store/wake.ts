/**
 * NOTIFY as a hint, polling as the truth. A hint says "this queue has something"; one that is lost costs a poll's wait
 * and nothing else.
 *
 * Invariant: never sent in a transaction that carries work, ours or the caller's: NOTIFY takes a database-wide lock at
 * commit, and every enqueue would stand in that line.
 */
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Connection, Db } from './db.ts'

const channel = 'retoma_wake'
const notify = {
  name: 'wake_notify',
  text: `select pg_notify('${channel}', queue) from unnest($1::text[]) as q (queue)`,
}

/** Sends hints of one process: many in a short time are one statement. */
export function createHinter(db: Db, log: Log): { hint(queue: string): void; settled(): Promise<void> } {
  let pending = new Set<string>()
  let sending: Promise<void> | undefined

  async function send(): Promise<void> {
    while (pending.size > 0) {
      const queues = [...pending]
      pending = new Set()
      await db
        .run(notify, [queues], 5000)
        .catch(error => log.debug({ err: error }, 'a hint was not sent; polling finds the job'))
    }
    sending = undefined
  }
  return {
    hint(queue) {
      pending.add(queue)
      sending ??= send()
    },
    settled: async () => sending,
  }
}

export interface Listener {
  stop(): Promise<void>
}

/** Calls `woken` with the queue of every hint, and with undefined after each (re)connect, when hints may have been missed. */
export function listen(db: Db, clock: Clock, log: Log, woken: (queue: string | undefined) => void): Listener {
  const ending = new AbortController()
  const ended = new Promise<void>(resolve => ending.signal.addEventListener('abort', () => resolve()))

  async function keep(): Promise<void> {
    let pause = 500
    while (!ending.signal.aborted) {
      let client: Connection | undefined
      try {
        client = await db.connect()
        const lost = new Promise<void>(resolve => client?.once('end', resolve))
        client.on('notification', message => woken(message.payload))
        await client.query(`listen ${channel}`)
        pause = 500
        woken(undefined)
        await Promise.race([lost, ended])
      } catch (error) {
        log.debug({ err: error }, 'listening for hints failed; polling goes on')
      } finally {
        await client?.end().catch(() => {})
      }
      if (!ending.signal.aborted) await clock.sleep(pause, ending.signal)
      pause = Math.min(pause * 2, 10_000)
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
