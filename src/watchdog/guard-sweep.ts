/**
 * One sweep of a guard: bites until nothing is left, or as many as it is given. Called by the tick (guards.ts), and by hand.
 *
 * Invariant: a row that cannot be marked, or that no job can be made of, is left as it is and told of; it holds up no other.
 */
import { checkEnqueueOptions, optionsOfItem } from '../core/enqueue-options.ts'
import type { Guard, GuardedRow } from '../core/guard.ts'
import { checkedInput } from '../core/input.ts'
import { isRetomaError, RetomaError, type Saying, say } from '../errors.ts'
import type { Db } from '../store/db.ts'
import type { NewJob } from '../store/enqueue.ts'
import { type LostRow, markLost, type RefusedRow, type RowKey } from '../store/guard.ts'
import { readGuardedTable } from '../store/guard-table.ts'
import { isFaultOfSomeRow } from '../store/guard-transaction.ts'

/** More keys than this are not kept of one sweep, nor more refusals: at these it ends. */
const mostKeys = 1000
const mostRefused = 100

export interface Swept {
  marked: number
  /** Of the rows that were marked, the oldest signal first; at most 1,000. */
  rows: { key: RowKey; signalAt: Date }[]
  /** Jobs made; with keys given they may be fewer than rows. */
  jobs: number
  refused: { key: RowKey; error: RetomaError }[]
  warnings: Saying[]
  /** Not all was done: it is to be gone on with. */
  more: boolean
}

export interface SweepOptions {
  db: Db
  guard: Guard
  /** The row of retoma.guard that counts. */
  counted: boolean
  atMostMs: number
  bites: number
  signal?: AbortSignal
  now: () => Date | null
}

/** Throws what is not the fault of some rows alone. */
export async function sweep({ db, guard, counted, atMostMs, bites, signal, now }: SweepOptions): Promise<Swept> {
  const table = await readGuardedTable(db, guard)
  const swept: Swept = { marked: 0, rows: [], jobs: 0, refused: [], warnings: table.warnings, more: true }
  const refused: string[] = []
  const refuse = (rows: readonly RefusedRow[]) => {
    refused.push(...rows.map(each => each.row.place))
    swept.refused.push(...rows.slice(0, mostRefused).map(({ row: { key }, error }) => ({ key, error })))
  }
  const subject = { guard, table, jobsOf: (rows: readonly LostRow[]) => tryJobs(guard, rows) }
  let { limit } = guard
  for (let done = 0; done < bites && refused.length < mostRefused && !signal?.aborted; ) {
    const options = { refused, limit, name: counted ? guard.name : undefined, atMostMs }
    const bite = await markLost(db, { ...subject, now: now() }, options).catch(error => error as Error)
    if (bite instanceof Error) {
      // Which row it was is found by smaller bites; alone, it is refused.
      if (limit === 1 || !isFaultOfSomeRow(bite)) throw bite
      limit = Math.ceil(limit / 8)
    } else if ('refused' in bite) {
      refuse(bite.refused)
    } else if (bite.marked.length === 0) {
      // Fewer than a bite may mean that some were locked: only nothing at all is the end.
      swept.more = false
      break
    } else {
      swept.marked += bite.marked.length
      swept.jobs += bite.jobs
      const rows = bite.marked.map(({ key, signalAt }) => ({ key, signalAt }))
      swept.rows.push(...rows.sort(byAge).slice(0, mostKeys - swept.rows.length))
      limit = Math.min(limit * 8, guard.limit)
      done++
    }
  }
  return { ...swept, more: swept.more && swept.marked > 0 && refused.length < mostRefused }
}

const byAge = (a: { signalAt: Date }, b: { signalAt: Date }): number => a.signalAt.getTime() - b.signalAt.getTime()

/** A job for each row, and the rows that none can be made of. */
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
  // Stored as it is, a promise would be an empty object; and the row is locked meanwhile.
  if (given instanceof Promise) {
    given.catch(() => {})
    throw new TypeError('it is a promise; what takes time belongs in the job')
  }
  const checked = checkEnqueueOptions(optionsOfItem(options(row as GuardedRow)))
  const text = await checkedInput(job, given)
  return {
    ...checked,
    ref: checked.ref ?? refOf(key),
    queue: job.queue,
    kind: job.kind,
    version: job.version,
    input: text,
  }
}

/** `17`, or `acme/17` where the key has several columns. */
const refOf = (key: RowKey): string => Object.values(key).map(String).join('/').slice(0, 500)

function refusal(kind: string, { key }: LostRow, error: unknown): RetomaError {
  const where = JSON.stringify(key)
  const problem = isRetomaError(error)
    ? say(`row ${where}: ${error.in('en')}`, `linha ${where}: ${error.in('pt')}`)
    : say(`row ${where}: ${String(error)}`, `linha ${where}: ${String(error)}`)
  return new RetomaError('bad_input', { kind, problem }, { cause: error })
}
