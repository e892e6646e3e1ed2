/**
 * Checks `defineGuard`: the rows of a user's table that count as lost, and the change of a lost row. Checked as far as code can
 * know; only the database knows the columns of the table (guards/sql/guarded-table).
 *
 * Invariant: the change of a lost row excludes the row from the guard's condition, so that no row is changed over and over.
 */

import type { EnqueueOptions } from '../../enqueue/model/enqueue-options.ts'
import { localized } from '../../errors/errors.ts'
import { type Refuse, refuseDefinition, refuseUnknown } from '../../errors/invalid-option.ts'
import { type AnyJob, isJob, type Job } from '../../jobs/model/job.ts'
import { type Duration, minutes } from '../../lib/values/duration.ts'
import { shownValue } from '../../lib/values/json.ts'
import { namePattern, nameRule } from '../../lib/values/name.ts'
import { column, duration, limitOf, record, value, zoneOf } from './guard-option-checks.ts'
import { type GuardNow, type GuardValue, guardNow, isNow, valueText } from './guard-value.ts'
import { parseTable, type TableName } from './table-name.ts'

/** A lost row, as found. bigint and numeric are text, instants are ISO 8601 text. */
export type GuardedRow = Readonly<Record<string, unknown>>

/** A guard, for `createEngine({ guards })`. */
export interface Guard {
  readonly name: string
  readonly table: TableName
  readonly status: { readonly column: string; readonly running: readonly GuardValue[] }
  /** The first non-null column counts. */
  readonly signal: readonly string[]
  readonly after: Duration
  readonly every: Duration
  readonly limit: number
  readonly timeZone: string
  readonly private: boolean
  readonly where: Readonly<Record<string, readonly GuardValue[]>>
  /** The column with the id of the job of the row; null: none. */
  readonly job: string | null
  readonly set: Readonly<Record<string, GuardValue | GuardNow>>
  readonly enqueue: {
    readonly job: AnyJob
    readonly input: (row: GuardedRow) => unknown
    readonly options: (row: GuardedRow) => Omit<EnqueueOptions, 'queue'>
  } | null
}

/** Options of `defineGuard`. */
export interface GuardOptions<Input = unknown> {
  name: string
  /** `documents` or `billing.documents`, as written in the database, including capital letters. */
  table: string
  /** The condition for rows at work. */
  status: { column: string; running: GuardValue | readonly GuardValue[] }
  /**
   * A column that changes while a row is at work; of several columns, the first non-null. A row without any value is never lost.
   */
  signal: string | readonly string[]
  /** A row is lost if the signal is older than this. */
  after: Duration
  /**
   * Columns to set in a lost row. With `enqueue` and without `set`, the signal column is set to now. Default: the
   * status is unchanged.
   */
  set?: Readonly<Record<string, GuardValue | GuardNow>>
  /** A job for each lost row, in the same transaction. Default: none. */
  enqueue?: {
    job: Job<Input, unknown>
    input: (row: GuardedRow) => NoInfer<Input>
    /** Options of the job of a row. Default: none. */
    options?: (row: GuardedRow) => Omit<EnqueueOptions, 'queue'>
  }
  /** Only rows with these values; a list matches any of its values. Default: all rows. */
  where?: Readonly<Record<string, GuardValue | readonly GuardValue[]>>
  /**
   * The column with the id of the job (of this engine) that works on the row. The guard then leaves a row alone whose job runs again by
   * itself: the job waits for its next attempt, or its worker sends no heartbeats. Default: none.
   */
  job?: string
  /** Interval of the sweeps. Default: a minute. A row is found at most `after` plus `every` after its last signal. */
  every?: Duration
  /** Rows in a single transaction. Default 500. */
  limit?: number
  /** Time zone of `timestamp` columns without time zone. Default UTC. */
  timeZone?: string
  /**
   * The rows are data of single users: over HTTP only admins see the keys of the rows, others see counts. Default: true if `enqueue.job` is
   * private, otherwise false.
   */
  private?: boolean
}

const known = [
  'name', 'table', 'status', 'signal', 'after', 'set', 'enqueue', 'where', 'job', 'every', 'limit', 'timeZone', 'private',
] // biome-ignore format: read as one list

/**
 * Defines a guard: a rule over a table of yours that finds rows that stopped, and sets or enqueues them again. Throws `bad_definition`.
 *
 * @example
 * const lost = defineGuard({
 *   name: 'lost-invoices',
 *   table: 'invoices',
 *   status: { column: 'status', running: 'PROCESSING' },
 *   signal: 'updated_at',
 *   after: minutes(10),
 *   set: { status: 'PENDING' },
 * })
 */
export function defineGuard<Input = unknown>(given: GuardOptions<Input>): Guard {
  const name = typeof given?.name === 'string' ? given.name : ''
  const refuse: Refuse = refuseDefinition(
    name ? localized(`the guard "${name}"`, `guard "${name}"`) : localized('a guard', 'guard'),
  )
  if (given === null || typeof given !== 'object')
    refuse(
      'defineGuard takes one object with name, table, status, signal, after, and set or enqueue',
      'defineGuard recebe um objeto com name, table, status, signal, after, e set ou enqueue',
    )
  refuseUnknown(given, known, refuse)
  if (!namePattern.test(name)) refuse(`name must be ${nameRule.en}`, `name deve ter ${nameRule.pt}`)
  const table = typeof given.table === 'string' ? parseTable(given.table) : undefined
  if (table === undefined)
    return refuse(
      `table must be a name such as documents or billing.documents, not ${shownValue(given.table)}`,
      `table deve ser um nome como documents ou billing.documents, não ${shownValue(given.table)}`,
    )
  if (table.schema === 'retoma') refuse('the tables of Retoma are not guarded', 'as tabelas do Retoma não se vigiam')
  const enqueue = jobOf(given.enqueue as GuardOptions['enqueue'], refuse)
  const guard: Guard = {
    name,
    table,
    status: statusOf(given.status, refuse),
    signal: signalOf(given.signal, refuse),
    after: duration('after', given.after, refuse),
    every: duration('every', given.every ?? minutes(1), refuse),
    limit: limitOf(given.limit ?? 500, refuse),
    timeZone: zoneOf(given.timeZone ?? 'UTC', refuse),
    where: whereOf(given.where ?? {}, refuse),
    job: given.job === undefined ? null : column('job', given.job, refuse),
    set: setOf(given, refuse),
    enqueue,
    private: privateOf(given.private ?? enqueue?.job.private ?? false, refuse),
  }
  if (!endsIt(guard))
    refuse(
      'set leaves the row as lost as it was, and it would be marked at every sweep; set the status to another value, or the signal to guardNow',
      'set deixa a linha tão perdida quanto antes, e ela seria marcada a cada vez; mude o status para outro valor, ou o signal para guardNow',
    )
  return guard
}

/** Returns true if the guard's condition no longer matches a changed row. */
function endsIt({ status, signal, where, set }: Guard): boolean {
  const moved = (column: string, from: readonly GuardValue[]) =>
    column in set && !from.some(each => valueText(each) === valueText(set[column] as GuardValue))
  return (
    moved(status.column, status.running) ||
    isNow(set[signal[0]!]) ||
    Object.entries(where).some(([column, values]) => moved(column, values))
  )
}

function privateOf(given: unknown, refuse: Refuse): boolean {
  if (typeof given !== 'boolean') refuse('private must be true or false', 'private deve ser true ou false')
  return given as boolean
}

function statusOf(status: GuardOptions['status'], refuse: Refuse): Guard['status'] {
  if (status === null || typeof status !== 'object')
    refuse(
      'status must be such as { column: "status", running: "PROCESSING" }',
      'status deve ser como { column: "status", running: "PROCESSING" }',
    )
  refuseUnknown(status, ['column', 'running'], refuse, 'status.')
  const running = Array.isArray(status.running) ? status.running : [status.running]
  if (running.length === 0 || running.some(each => each === undefined || each === null))
    refuse(
      'status.running must be the value, or the values, of rows that are at work',
      'status.running deve ser o valor, ou os valores, de linhas em andamento',
    )
  return {
    column: column('status.column', status.column, refuse),
    running: running.map(each => value('status.running', each, refuse)),
  }
}

function signalOf(signal: GuardOptions['signal'], refuse: Refuse): string[] {
  const columns = Array.isArray(signal) ? signal : [signal]
  if (columns.length === 0 || columns.length > 5)
    refuse('signal must be one column, or up to 5', 'signal deve ser uma coluna, ou até 5')
  return columns.map(each => column('signal', each, refuse))
}

function whereOf(where: NonNullable<GuardOptions['where']>, refuse: Refuse): Guard['where'] {
  return Object.fromEntries(
    Object.entries(record('where', where, refuse)).map(([name, one]) => {
      const values = (Array.isArray(one) ? one : [one]) as GuardValue[]
      if (values.length === 0) refuse(`where.${name} is an empty list`, `where.${name} é uma lista vazia`)
      return [column('where', name, refuse), values.map(each => value(`where.${name}`, each, refuse))]
    }),
  )
}

function setOf({ set, enqueue, signal }: Pick<GuardOptions, 'set' | 'signal'> & { enqueue?: unknown }, refuse: Refuse) {
  if (set === undefined && enqueue === undefined)
    refuse('it needs set or enqueue, to know what to do', 'falta set ou enqueue, para saber o que fazer')
  if (set === undefined) return { [[signal].flat()[0] as string]: guardNow }
  for (const [name, one] of Object.entries(record('set', set, refuse))) {
    column('set', name, refuse)
    if (!isNow(one)) value(`set.${name}`, one, refuse)
  }
  return { ...set }
}

function jobOf(enqueue: GuardOptions['enqueue'], refuse: Refuse): Guard['enqueue'] | null {
  if (enqueue === undefined) return null
  refuseUnknown(record('enqueue', enqueue, refuse), ['job', 'input', 'options'], refuse, 'enqueue.')
  const { job, input, options: asked = () => ({}) } = enqueue
  if (!isJob(job)) refuse('enqueue.job must be made by defineJob', 'enqueue.job deve ser feito por defineJob')
  if (typeof input !== 'function' || typeof asked !== 'function')
    refuse(
      'enqueue.input must be a function that makes the input of a row, such as row => ({ id: row.id })',
      'enqueue.input deve ser uma função que faz a entrada de uma linha, como row => ({ id: row.id })',
    )
  return { job, input, options: asked }
}
