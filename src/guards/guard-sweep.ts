/**
 * Runs a sweep of a guard: marks lost rows in chunks until none are left or `chunks` are done. Called by the tick
 * (guard-tick.ts) and by hand.
 *
 * Invariant: a row that cannot be marked, or has no valid job, stays unchanged and is reported; it does not hold up other rows.
 */

import type { Db } from '../database/db.ts'
import { type NewJob, newJob } from '../enqueue/enqueue.sql.ts'
import { checkEnqueueOptions, optionsOfItem } from '../enqueue/model/enqueue-options.ts'
import { checkedInput } from '../enqueue/model/job-input.ts'
import { isRetomaError, type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import type { Guard, GuardedRow } from './model/guard.ts'
import { isFaultOfSomeRow } from './sql/guard-transaction.ts'
import { readGuardedTable } from './sql/guarded-table.ts'
import { type LostRow, markLost, type RefusedRow, type RowKey } from './sql/mark-lost-rows.ts'

/** A sweep keeps at most this many keys, and ends at this many refused rows. */
const mostKeys = 1000
const mostRefused = 100

export interface GuardSweepResult {
  marked: number
  /** The marked rows, the oldest signal first; at most 1,000. */
  rows: { key: RowKey; signalAt: Date }[]
  /** Jobs enqueued; with unique keys there may be fewer jobs than rows. */
  jobs: number
  refused: { key: RowKey; error: RetomaError }[]
  warnings: LocalizedText[]
  /** true: rows may be left; sweep again. */
  more: boolean
}

export interface SweepOptions {
  db: Db
  guard: Guard
  /** Counts in the guard's row of retoma.guard. */
  counted: boolean
  atMostMs: number
  chunks: number
  signal?: AbortSignal
  now: () => Date | null
}

/** Throws errors that are not caused by single rows. */
export async function sweep({
  db,
  guard,
  counted,
  atMostMs,
  chunks,
  signal,
  now,
}: SweepOptions): Promise<GuardSweepResult> {
  const table = await readGuardedTable(db, guard)
  const swept: GuardSweepResult = { marked: 0, rows: [], jobs: 0, refused: [], warnings: table.warnings, more: true }
  const refused: string[] = []
  const refuse = (rows: readonly RefusedRow[]) => {
    refused.push(...rows.map(each => each.row.place))
    swept.refused.push(...rows.slice(0, mostRefused).map(({ row: { key }, error }) => ({ key, error })))
  }
  const subject = { guard, table, jobsOf: (rows: readonly LostRow[]) => tryJobs(guard, rows) }
  let { limit } = guard
  for (let done = 0; done < chunks && refused.length < mostRefused && !signal?.aborted; ) {
    const options = { refused, limit, name: counted ? guard.name : undefined, atMostMs }
    const chunk = await markLost(db, { ...subject, now: now() }, options).catch(error => error as Error)
    if (chunk instanceof Error) {
      // Smaller chunks isolate the bad row; markLost refuses a bad row in a chunk of 1.
      if (limit === 1 || !isFaultOfSomeRow(chunk)) throw chunk
      limit = Math.ceil(limit / 8)
    } else if ('refused' in chunk) {
      refuse(chunk.refused)
    } else if (chunk.marked.length === 0) {
      // A short chunk may mean that some rows were locked: only an empty chunk is the end.
      swept.more = false
      break
    } else {
      swept.marked += chunk.marked.length
      swept.jobs += chunk.jobs
      const rows = chunk.marked.map(({ key, signalAt }) => ({ key, signalAt }))
      swept.rows.push(...rows.sort(byAge).slice(0, mostKeys - swept.rows.length))
      limit = Math.min(limit * 8, guard.limit)
      done++
    }
  }
  return { ...swept, more: swept.more && swept.marked > 0 && refused.length < mostRefused }
}

const byAge = (a: { signalAt: Date }, b: { signalAt: Date }): number => a.signalAt.getTime() - b.signalAt.getTime()

/** Answers a job for each row, and the rows without a valid job. */
async function tryJobs(
  { enqueue }: Guard,
  rows: readonly LostRow[],
): Promise<{ jobs: NewJob[]; refused: RefusedRow[] }> {
  const jobs: NewJob[] = []
  const refused: RefusedRow[] = []
  if (enqueue === null) return { jobs, refused }
  for (const row of rows) {
    try {
      jobs.push(await jobOf(enqueue, row))
    } catch (error) {
      refused.push({ row, error: refusal(enqueue.job.kind, row, error) })
    }
  }
  return { jobs, refused }
}

async function jobOf({ job, input, options }: NonNullable<Guard['enqueue']>, { row, key }: LostRow): Promise<NewJob> {
  const given = input(row as GuardedRow)
  // A stored promise would be an empty object, and the row stays locked while a promise runs.
  if (given instanceof Promise) {
    given.catch(() => {})
    throw new TypeError('it is a promise; what takes time belongs in the job')
  }
  const own = optionsOfItem(options(row as GuardedRow))
  if (own.queue !== undefined)
    refuseOption(
      'queue',
      'the jobs of a guard go to the queue of the kind',
      'os jobs de um guard vão para a fila do tipo',
    )
  const checked = checkEnqueueOptions(own, job)
  return newJob(job, { ...checked, ref: checked.ref ?? refOf(key) }, await checkedInput(job, given))
}

/** `17`, or `acme/17` where the key has several columns. */
const refOf = (key: RowKey): string => Object.values(key).map(String).join('/').slice(0, 500)

function refusal(kind: string, { key }: LostRow, error: unknown): RetomaError {
  const where = JSON.stringify(key)
  const problem = isRetomaError(error)
    ? localized(`row ${where}: ${error.in('en')}`, `linha ${where}: ${error.in('pt')}`)
    : localized(`row ${where}: ${String(error)}`, `linha ${where}: ${String(error)}`)
  return new RetomaError('bad_input', { kind, problem }, { cause: error })
}
