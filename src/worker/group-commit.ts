/**
 * Many small writes as few large ones: while one flush is on its way the next gathers. That a flush has landed is told when
 * the next one has been sent: what hundreds of jobs do on hearing it then happens while PostgreSQL works.
 *
 * Invariant: `add` resolves once it is certain what became of the item. What a reconnect can cure is tried again, in order,
 * for as long as it takes; an item that PostgreSQL refuses is found by halves and never blocks its neighbours.
 */
import type { Clock } from '../lib/clock.ts'
import { afterThis } from '../lib/later.ts'
import type { Log } from '../lib/log.ts'
import { isFaultOfRow } from '../store/trouble.ts'

/** In the database; certain that the lease is lost; nothing could be written; PostgreSQL takes it in no form. */
export type Landed = 'landed' | 'lost' | 'left' | 'refused'

export interface GroupCommit<Item> {
  add(item: Item): Promise<Landed>
  /** Since when the oldest item that is not in the database has waited; undefined: none has. */
  readonly waitingSince: number | undefined
  /** From now on a failing database is no longer waited for. */
  giveUp(): void
}

export interface GroupCommitOptions<Item> {
  clock: Clock
  log: Log
  /** For the log: what these are. */
  what: string
  /** Writes them in one statement; answers those that landed. */
  write(items: readonly Item[]): Promise<ReadonlySet<Item>>
  weigh(item: Item): number
  /** At most one item of a job in a flush: two would be one update of one row, which takes either. Default: any number. */
  oneOfJob?: boolean
  /** What to write in the place of an item that PostgreSQL refuses alone; undefined: nothing, it is over. */
  instead(item: Item, error: unknown): Item | undefined
}

interface Entry<Item> {
  item: Item
  done: (landed: Landed) => void
}

const maxRows = 500
const maxLength = 8 * 1024 * 1024

export function createGroupCommit<Item extends { id: string }>(options: GroupCommitOptions<Item>): GroupCommit<Item> {
  const { clock, log, what, instead } = options
  const ending = new AbortController()
  const gathered: Entry<Item>[] = []
  let flushing = false
  /** Of the first that is gathered, and of the first that is on its way. */
  let gatheredAt = 0
  let sentAt = 0

  async function flush(): Promise<void> {
    while (gathered.length > 0) {
      sentAt = gatheredAt
      gatheredAt = clock.elapsed()
      await write(gathered.splice(0, fitting()))
    }
    flushing = false
  }

  async function write(entries: Entry<Item>[]): Promise<void> {
    for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
      try {
        const landed = await options.write(entries.map(entry => entry.item))
        afterThis(clock, () => {
          for (const { item, done } of entries) done(landed.has(item) ? 'landed' : 'lost')
        })
        return
      } catch (error) {
        if (isFaultOfRow(error)) return divide(entries, error)
        if (ending.signal.aborted) {
          log.warn(
            { err: error, jobs: entries.map(entry => entry.item.id) },
            `${what} were not written; the watchdog gives their jobs back`,
          )
          for (const entry of entries) entry.done('left')
          return
        }
        if (pause === 100)
          log.warn({ err: error, waiting: entries.length }, `the database does not take ${what}; trying again`)
        await clock.sleep(pause, ending.signal)
      }
    }
  }

  /** PostgreSQL refuses a row: halves, until it is alone. */
  async function divide(entries: Entry<Item>[], error: unknown): Promise<void> {
    if (entries.length > 1) {
      const half = Math.ceil(entries.length / 2)
      await write(entries.slice(0, half))
      return write(entries.slice(half))
    }
    for (const entry of entries) {
      const item = instead(entry.item, error)
      if (item === undefined) entry.done('refused')
      else await write([{ ...entry, item }])
    }
  }

  /** How many make one flush: bounded by rows and by what they weigh, and always at least one. */
  function fitting(): number {
    const jobs = new Set<string>()
    let length = 0
    let count = 0
    while (count < Math.min(gathered.length, maxRows)) {
      const { item } = gathered[count]!
      length += options.weigh(item)
      if (count > 0 && length > maxLength) break
      if (options.oneOfJob) {
        if (jobs.has(item.id)) break
        jobs.add(item.id)
      }
      count++
    }
    return count
  }

  return {
    add: item =>
      new Promise(resolve => {
        gathered.push({ item, done: resolve })
        if (flushing) return
        flushing = true
        gatheredAt = clock.elapsed()
        sentAt = gatheredAt
        // What others have ready at this moment goes with it: hundreds may have heard the same news.
        afterThis(clock, () => void flush())
      }),
    get waitingSince() {
      return flushing ? sentAt : undefined
    },
    giveUp: () => ending.abort(),
  }
}
