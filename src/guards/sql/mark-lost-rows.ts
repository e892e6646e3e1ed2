/**
 * Sweeps a table of the user: marks the running rows whose signal is too old by the database's clock, in chunks, oldest
 * first. If the guard enqueues jobs, each row's job is inserted in the same transaction.
 *
 * Invariant: the statement checks status and signal on the locked row, so it skips a row that changed meanwhile; a row
 * locked by another transaction waits for the next sweep. A row is marked once: a chunk is rolled back if a marked row
 * still matches the condition (a trigger put the old value back).
 */

import { type Db, type Queryable, runOn } from '../../database/db.ts'
import { enqueueJobs, type NewJob } from '../../enqueue/enqueue.sql.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { Guard } from '../model/guard.ts'
import { shownTable } from '../model/table-name.ts'
import { assignments, condition, keyOf, type Names, namesOf, order, place, rowOf, signalAt } from './guard-fragments.ts'
import { countMarked } from './guard-runs.ts'
import { inTransaction, isFaultOfSomeRow, troubleOf } from './guard-transaction.ts'
import type { GuardedTable } from './guarded-table.ts'

/** The primary key of a row, or the row's ctid if the table has no primary key. */
export type RowKey = Readonly<Record<string, unknown>>

export interface LostRow {
  key: RowKey
  signalAt: Date
  /** The whole row if the guard enqueues a job; otherwise null. */
  row: Record<string, unknown> | null
  /** Identifies the row within this sweep. */
  place: string
}

/**
 * Selects and locks the oldest lost rows. Keys and row values are computed outside of the sort, which may read all lost
 * rows.
 */
function lostRows(names: Names, { refused, limit, only }: MarkLostOptions): string {
  const { table, bind } = names
  const signal = signalAt(names)
  return `
      select t.tableoid as part, t.ctid as spot, ${place} as place, ${signal} as "signalAt",
        ${keyOf(names)} as key, ${rowOf(names)} as row
      from (
        select t.tableoid, t.ctid, t.* from ${table.quoted} t
        where ${condition(names)}
          ${refused.length === 0 ? '' : `and ${place} <> all (${bind(refused, 'text[]')})`}
          ${only === undefined ? '' : `and ${place} = ${bind(only, 'text')}`}
        order by ${order(names, signal)}
        limit ${bind(limit, 'int')}
        for update of t skip locked
      ) t`
}

// Joins by ctid, because a table may have no key, and by tableoid, because each partition has the same ctids.
function markStatement({ guard, table, now }: Subject, options: MarkLostOptions) {
  const { names, values } = namesOf(guard, table, now)
  const text = `
    with lost as materialized (${lostRows(names, options)}
    )
    update ${table.quoted} t
    set ${assignments(names)
      .map(({ column, value }) => `${column.quoted} = ${value}`)
      .join(', ')}
    from lost
    where t.ctid = any (array(select spot from lost)) and t.ctid = lost.spot and t.tableoid = lost.part
    returning lost.key, lost.row, lost.place, lost."signalAt",
      coalesce(${condition(names)}, false) as still`
  return { text, values }
}

function findStatement({ guard, table, now }: Subject, options: MarkLostOptions) {
  const { names, values } = namesOf(guard, table, now)
  return { text: `select key, row, place, "signalAt" from (${lostRows(names, options)}) lost`, values }
}

interface Subject {
  guard: Guard
  table: GuardedTable
  now: Date | null
  /** Builds the jobs of the rows. Must be fast: the rows stay locked meanwhile. */
  jobsOf: (rows: readonly LostRow[]) => Promise<{ jobs: NewJob[]; refused: RefusedRow[] }>
}

export interface MarkLostOptions {
  /** Places of rows to skip. */
  refused: readonly string[]
  /** Maximum number of rows. With a limit of 1, a row that cannot be marked is refused and does not fail the chunk. */
  limit: number
  /** The place of the only row to mark. */
  only?: string
  /** Name of the row in retoma.guard that counts marked rows; undefined: no row counts. */
  name: string | undefined
  /** Statement timeout. */
  atMostMs: number
}

/** A row of a chunk that cannot be marked, or whose job cannot be built. */
export interface RefusedRow {
  row: LostRow
  error: RetomaError
}

/** If rows were refused, the whole chunk was rolled back. */
export type MarkedChunk = { marked: LostRow[]; jobs: number } | { refused: RefusedRow[] }

export function markLost(db: Db, subject: Subject, options: MarkLostOptions): Promise<MarkedChunk> {
  const { guard, table } = subject
  const mark = options.limit === 1 ? markAlone : markTogether
  return inTransaction<MarkedChunk>(db, guard, table, options.atMostMs, client => mark(client, subject, options))
}

async function markTogether(client: Queryable, subject: Subject, options: MarkLostOptions): Promise<MarkedChunk> {
  const { text, values } = markStatement(subject, options)
  const marked = (await client.query(text, values)).rows as (LostRow & { still: boolean })[]
  if (marked.length === 0) return { marked, jobs: 0 }
  const back = marked.filter(each => each.still)
  const { jobs, refused } =
    back.length > 0
      ? { jobs: [], refused: back.map(row => ({ row, error: staysLost(subject) })) }
      : await subject.jobsOf(marked)
  if (refused.length > 0) {
    await client.query('rollback')
    return { refused }
  }
  const run = runOn(client)
  const made = await enqueueJobs(run, jobs, subject.now)
  if (options.name !== undefined) await countMarked(run, options.name, marked.length)
  return { marked, jobs: made.filter(each => each.created).length }
}

/** Uses two statements, so the row is known if the second statement fails. */
async function markAlone(client: Queryable, subject: Subject, options: MarkLostOptions): Promise<MarkedChunk> {
  const { text, values } = findStatement(subject, options)
  const [row] = (await client.query(text, values)).rows as LostRow[]
  if (row === undefined) return { marked: [], jobs: 0 }
  try {
    return await markTogether(client, subject, { ...options, only: row.place })
  } catch (thrown) {
    const error = troubleOf(thrown, subject.guard, subject.table, options.atMostMs)
    if (error === undefined || !isFaultOfSomeRow(error)) throw thrown
    await client.query('rollback')
    return { refused: [{ row, error }] }
  }
}

const staysLost = ({ guard }: Subject) =>
  new RetomaError('guard_unfit', {
    table: shownTable(guard.table),
    problem: localized(
      'a row is looked for as before once it was marked, because a trigger or a rule of the table changes what was set',
      'uma linha continua sendo procurada depois de marcada, porque um trigger ou uma regra da tabela muda o que foi gravado',
    ),
  })
