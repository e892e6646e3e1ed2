/**
 * Builds the parts of statements on a guarded table. Every name and type is as the catalog quoted it (guarded-table.ts);
 * every value is bound, with the type of the column. `t` is a row of the table.
 */
import type { Guard } from '../model/guard.ts'
import { type GuardValue, isNow, valueText } from '../model/guard-value.ts'
import type { Column, GuardedTable } from './guarded-table.ts'

export interface Names {
  guard: Guard
  table: GuardedTable
  /** Adds a value and returns the placeholder for the text. */
  bind: (value: unknown, type: string) => string
  at: string
  cutoff: string
}

/** `values` grows while the parts of the text are built. */
export function namesOf(guard: Guard, table: GuardedTable, now: Date | null): { names: Names; values: unknown[] } {
  const values: unknown[] = []
  const bind = (value: unknown, type: string) => `$${values.push(value)}::${type}`
  const at = `coalesce(${bind(now, 'timestamptz')}, now())`
  const cutoff = `${at} - make_interval(secs => ${bind(guard.after, 'float8')} / 1000)`
  return { names: { guard, table, bind, at, cutoff }, values }
}

const isLocal = ({ base }: Column): boolean => base === 'timestamp without time zone'

/** Binds the value with the type of the column. The driver encodes a list for an array column. */
function typed({ bind }: Names, { type, isList }: Column, value: GuardValue): string {
  return bind(isList && Array.isArray(value) ? value : valueText(value), type)
}

/** The condition of a lost row: a running status, a signal that is too old, and the guard's `where`. */
export function condition(names: Names): string {
  const { guard, table, bind, at, cutoff } = names
  const among = (name: string, values: readonly GuardValue[]) => {
    const column = table.columns.get(name)!
    const some = values.filter(each => each !== null).map(each => typed(names, column, each))
    const tests = [
      ...(some.length > 0 ? [`t.${column.quoted} in (${some.join(', ')})`] : []),
      ...(values.includes(null) ? [`t.${column.quoted} is null`] : []),
    ]
    return `(${tests.join(' or ')})`
  }
  const [only, ...more] = guard.signal.map(name => table.columns.get(name)!)
  // The bare column, so that an index on the column serves.
  const old =
    more.length > 0
      ? `${signalAt(names)} < ${cutoff}`
      : isLocal(only!)
        ? `t.${only!.quoted} < (${cutoff}) at time zone ${bind(guard.timeZone, 'text')}`
        : `t.${only!.quoted} < ${cutoff}`
  return [
    among(guard.status.column, guard.status.running),
    old,
    ...Object.entries(guard.where).map(([name, values]) => among(name, values)),
    ...(guard.job === null ? [] : [notRunAgain(table.columns.get(guard.job)!, at)]),
  ].join('\n        and ')
}

/** A worker without a heartbeat for this time counts as silent; the watchdog declares a worker dead after 20 s or sooner. */
const silentSeconds = 30

/** The job of the row has no further attempt that the engine starts by itself: the job is final, or its worker lives. */
const notRunAgain = ({ quoted }: Column, at: string): string => `not exists (
          select from retoma.job j
          where j.id = t.${quoted}::bigint and j.attempt > 0
            and (j.state = 'waiting' or j.state = 'running' and not exists (
              select from retoma.worker w
              where w.id = j.worker_id and w.dead_at is null
                and w.heartbeat_at > ${at} - interval '${silentSeconds} seconds'
            ))
        )`

/** The signal as an instant. */
export function signalAt({ guard, table, bind }: Names): string {
  const instants = guard.signal.map(name => {
    const column = table.columns.get(name)!
    return isLocal(column) ? `t.${column.quoted} at time zone ${bind(guard.timeZone, 'text')}` : `t.${column.quoted}`
  })
  return `coalesce(${instants.join(', ')})`
}

export const order = ({ guard, table }: Names, whole: string): string =>
  guard.signal.length > 1 ? whole : `t.${table.columns.get(guard.signal[0]!)!.quoted}`

const jsonOf = ({ quoted, isLong }: Column): string => (isLong ? `t.${quoted}::text` : `t.${quoted}`)

export function keyOf({ table, bind }: Names): string {
  const key = [...table.columns.values()].filter(each => each.isKey)
  if (key.length === 0) return `jsonb_build_object('ctid', t.ctid::text)`
  return `jsonb_build_object(${key.map(each => `${bind(each.name, 'text')}, ${jsonOf(each)}`).join(', ')})`
}

export function rowOf({ guard, table, bind }: Names): string {
  if (guard.enqueue === null) return 'null::jsonb'
  const bare = `to_jsonb(t) - 'tableoid' - 'ctid'`
  const long = [...table.columns.values()].filter(each => each.isLong)
  if (long.length === 0) return bare
  const texts = long.map(jsonOf).join(', ')
  return `(${bare}) || jsonb_object(${bind(
    long.map(each => each.name),
    'text[]',
  )}, array[${texts}])`
}

/** The columns of `set` with their new values as SQL. */
export function assignments(names: Names): { column: Column; value: string }[] {
  const { guard, table, bind, at } = names
  return Object.entries(guard.set).map(([name, value]) => {
    const column = table.columns.get(name)!
    if (!isNow(value)) return { column, value: typed(names, column, value as GuardValue) }
    const isInstant = column.base === 'timestamp with time zone'
    return { column, value: isInstant ? at : `(${at} at time zone ${bind(guard.timeZone, 'text')})::${column.type}` }
  })
}

/** Identifies a row, also in a partitioned table. */
export const place = 't.tableoid::text || t.ctid::text'
