/**
 * The sweep of a table that is not ours: rows at work whose signal is too old by the database's clock are marked, in bites,
 * oldest first, a job for each in the same transaction where one is asked for.
 *
 * Invariant: status and signal are judged on the locked row, so one that moved meanwhile is left alone, and one that
 * somebody holds is passed by until the next look. A row is marked once: a bite after which it would still be looked for
 * (a trigger put it back) is undone.
 */
import type { Guard } from '../core/guard.ts'
import { shownTable } from '../core/guard-table.ts'
import { RetomaError, say } from '../errors.ts'
import { type Db, type Queryable, runOn } from './db.ts'
import { enqueueJobs, type NewJob } from './enqueue.ts'
import type { GuardedTable } from './guard-table.ts'
import { assignments, condition, keyOf, type Names, namesOf, order, place, rowOf, signalAt } from './guard-text.ts'
import { inTransaction, isFaultOfSomeRow, troubleOf } from './guard-transaction.ts'
import { countMarked } from './guard-turn.ts'

/** The primary key of a row, or its place where the table has none. */
export type RowKey = Readonly<Record<string, unknown>>

export interface LostRow {
  key: RowKey
  signalAt: Date
  /** The whole row where a job is made of it. */
  row: Record<string, unknown> | null
  /** Tells it from the others of this sweep. */
  place: string
}

/** Locks the oldest of them. What is made of a row is made outside of the sort, which may see all that is lost. */
function lostRows(names: Names, { refused, limit, only }: BiteOptions): string {
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

// By ctid, for a table need not have a key; with the part it lies in, for a partitioned table has each ctid many times.
function markStatement({ guard, table, now }: Subject, options: BiteOptions) {
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

function findStatement({ guard, table, now }: Subject, options: BiteOptions) {
  const { names, values } = namesOf(guard, table, now)
  return { text: `select key, row, place, "signalAt" from (${lostRows(names, options)}) lost`, values }
}

interface Subject {
  guard: Guard
  table: GuardedTable
  now: Date | null
  /** Makes the jobs of these rows; it must not take long, for the rows are locked meanwhile. */
  jobsOf: (rows: readonly LostRow[]) => Promise<{ jobs: NewJob[]; refused: RefusedRow[] }>
}

export interface BiteOptions {
  /** Places of rows to be passed by. */
  refused: readonly string[]
  /** Rows, at most. Alone, a row that cannot be marked is refused instead of failing the bite. */
  limit: number
  /** The place of the one row to look at. */
  only?: string
  /** The row of retoma.guard that counts; undefined: none does. */
  name: string | undefined
  /** A statement that takes longer is given up. */
  atMostMs: number
}

/** Rows of a bite that cannot be marked, or that no job can be made of. */
export interface RefusedRow {
  row: LostRow
  error: RetomaError
}

/** With rows refused, nothing of the bite was kept. */
export type Bite = { marked: LostRow[]; jobs: number } | { refused: RefusedRow[] }

export function markLost(db: Db, subject: Subject, options: BiteOptions): Promise<Bite> {
  const { guard, table } = subject
  const mark = options.limit === 1 ? markAlone : markTogether
  return inTransaction<Bite>(db, guard, table, options.atMostMs, client => mark(client, subject, options))
}

async function markTogether(client: Queryable, subject: Subject, options: BiteOptions): Promise<Bite> {
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

/** Two statements, so that the row is known when the second fails. */
async function markAlone(client: Queryable, subject: Subject, options: BiteOptions): Promise<Bite> {
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
    problem: say(
      'a row is looked for as before once it was marked, because a trigger or a rule of the table changes what was set',
      'uma linha continua sendo procurada depois de marcada, porque um trigger ou uma regra da tabela muda o que foi gravado',
    ),
  })
