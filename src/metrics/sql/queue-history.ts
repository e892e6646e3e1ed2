/**
 * Stores the history of the queues for charts: counts of attempts, durations and waiting times, by queue and minute, and by queue and
 * hour. A write adds to both rows, so no later step has to add up minutes: the janitor only removes old rows.
 *
 * Invariant: no count is added twice. A worker numbers its writes; the write moves `history_seq` of its worker row in the same statement,
 * so a write that is repeated after a lost answer finds its number there and adds nothing. A crash loses the counts since the last write.
 * Writers lock the rows in the order (seconds, at, queue), so that many workers never deadlock.
 */
import type { Db } from '../../database/db.ts'
import { bucketCount } from '../model/histogram.ts'
import { graceHours, hoursKeptDays, minutesKeptHours } from '../model/history-span.ts'

const writeMs = 2000
const tickMs = 8000
const readMs = 5000

export const historyCounts = ['started', 'succeeded', 'skipped', 'failed', 'retried', 'deferred'] as const
export type HistoryCount = (typeof historyCounts)[number]

/** Counts of a queue in a minute or an hour. */
export interface HistoryRow extends Record<HistoryCount, number> {
  queue: string
  /** Length in seconds: 60 or 3600. */
  seconds: number
  /** Start, in seconds since 1970. */
  at: number
  durationMs: number
  waitingMs: number
  durations: readonly number[]
  waitings: readonly number[]
}

const names = [...historyCounts, 'duration_ms', 'waiting_ms']
const histograms = ['durations', 'waitings']
const buckets = Array.from({ length: bucketCount }, (_, n) => n + 1)

// Element by element, without a subquery: a subquery for each row would cost more than the rest of the statement.
const sumOfBoth = (column: string) =>
  `array[${buckets.map(n => `h.${column}[${n}] + excluded.${column}[${n}]`).join(', ')}]`

const columns = `queue, seconds, at, ${names.join(', ')}, ${histograms.join(', ')}`

const addRows = (source: string, first: number) => `
    insert into retoma.queue_history as h (${columns})
    select g.queue, g.seconds, to_timestamp(g.at), ${names.map(name => `g.${name}`).join(', ')},
      ${histograms.map(name => `g.${name}::int[]`).join(', ')}
    from ${source} unnest($${first}::text[], $${first + 1}::int[], $${first + 2}::float8[],
        ${names.map((_, n) => `$${first + 3 + n}::bigint[]`).join(', ')},
        ${histograms.map((_, n) => `$${first + 3 + names.length + n}::text[]`).join(', ')})
      as g (${columns})
    order by g.seconds, g.at, g.queue collate "C"
    on conflict (seconds, at, queue) do update set
      ${names.map(name => `${name} = h.${name} + excluded.${name}`).join(', ')},
      ${histograms.map(name => `${name} = ${sumOfBoth(name)}`).join(',\n      ')}`

const valuesOf = (rows: readonly HistoryRow[]): unknown[] => [
  rows.map(row => row.queue),
  rows.map(row => row.seconds),
  rows.map(row => row.at),
  ...historyCounts.map(name => rows.map(row => row[name])),
  rows.map(row => Math.round(row.durationMs)),
  rows.map(row => Math.round(row.waitingMs)),
  rows.map(row => `{${row.durations.join()}}`),
  rows.map(row => `{${row.waitings.join()}}`),
]

// A worker row that is gone accepts nothing more.
const write = {
  name: 'history_write',
  text: `
    with turn as (
      update retoma.worker set history_seq = $2 where id = $1 and history_seq < $2 returning id
    )
    ${addRows('turn cross join', 3)}`,
}

/** Adds the rows, unless the worker's write `seq` is already there. */
export async function writeHistory(db: Db, worker: string, seq: number, rows: readonly HistoryRow[]): Promise<void> {
  await db.run(write, [worker, seq, ...valuesOf(rows)], writeMs)
}

const add = { name: 'history_add', text: addRows('', 1) }

/** Adds counts that belong to no worker. Must not be repeated: nothing recognizes a second write. */
export async function addHistory(db: Db, rows: readonly HistoryRow[]): Promise<void> {
  if (rows.length > 0) await db.run(add, valuesOf(rows), tickMs)
}

/** Conditions of the janitor's statement (maintenance/sql/expired-rows.ts): the minutes, and the hours, past their time. */
export const isPastMinute = (now: string): string =>
  `seconds = 60 and at < ${now} - interval '${minutesKeptHours + graceHours} hours'`
export const isPastHour = (now: string): string =>
  `seconds = 3600 and at < ${now} - interval '${hoursKeptDays * 24 + graceHours} hours'`

const sums = `
  queue, (floor(extract(epoch from at) / $4) * $4)::float8 as at, ${historyCounts.map(name => `sum(${name})::float8 as ${name}`).join(', ')},
  sum(duration_ms)::float8 as "durationMs", sum(waiting_ms)::float8 as "waitingMs",
  ${histograms.map(name => `array[${buckets.map(n => `sum(${name}[${n}])`).join(', ')}]::float8[] as ${name}`).join(',\n  ')}`

const range = `seconds = $1 and at >= $2::timestamptz and at < $3::timestamptz`
const readAll = {
  name: 'history_read',
  text: `select ${sums} from retoma.queue_history where ${range} group by 1, 2 order by 1, 2 limit $5`,
}
const readOne = {
  name: 'history_read_queue',
  text: `select ${sums} from retoma.queue_history where ${range} and queue = $6 group by 1, 2 order by 1, 2 limit $5`,
}

/** Rows added up by queue and step, sorted; `seconds` is the step. */
export async function readHistory(
  db: Db,
  given: { from: Date; to: Date; stepSeconds: number; rowSeconds: number; queue?: string | undefined; limit: number },
): Promise<HistoryRow[]> {
  const { from, to, stepSeconds, rowSeconds, queue, limit } = given
  const values = [rowSeconds, from, to, stepSeconds, limit]
  const rows = await (queue === undefined
    ? db.run<Omit<HistoryRow, 'seconds'>>(readAll, values, readMs)
    : db.run<Omit<HistoryRow, 'seconds'>>(readOne, [...values, queue], readMs))
  return rows.map(row => ({ ...row, seconds: stepSeconds }))
}
