/**
 * Reads a guarded table from the catalog, before every sweep. A missing column is then reported by name and does not fail
 * the sweep midway. No name or type in a statement comes from anywhere but the catalog.
 *
 * Invariant: PostgreSQL itself has quoted every name returned here; texts of a guard are only compared with these names.
 */

import type { Db } from '../../database/db.ts'
import { hintFor } from '../../errors/did-you-mean.ts'
import { type LocalizedText, localized, RetomaError } from '../../errors/errors.ts'
import type { Guard } from '../model/guard.ts'
import { type GuardValue, isNow, valueText } from '../model/guard-value.ts'
import { shownTable } from '../model/table-name.ts'

export interface Column {
  name: string
  /** Quoted for a statement. */
  quoted: string
  /**
   * The type, for a statement; without a length, so PostgreSQL rejects a text that is too long and does not cut the text.
   */
  type: string
  /** The type beneath a domain. */
  base: string
  /** The labels of an enum. */
  labels: string[] | null
  isList: boolean
  /** The type has more digits than a number in JSON keeps. */
  isLong: boolean
  mayUpdate: boolean
  isKey: boolean
}

export interface GuardedTable {
  /** Schema and name, quoted for a statement and for messages. */
  quoted: string
  columns: ReadonlyMap<string, Column>
  /** Problems a person should know about although the guard works. */
  warnings: LocalizedText[]
}

interface Found {
  user: string
  /** null: the table does not exist. */
  quoted: string | null
  isOurs: boolean
  sort: string
  columns: (Column & { number: number })[]
  mayEnter: boolean
  maySelect: boolean
  hidden: boolean
  /** The leading columns of each index that could serve the sweep. */
  indexes: { columns: number[]; predicate: string | null }[]
  others: string[]
  schema: string
}

const readMs = 8000

const readTable = {
  name: 'guard_table',
  text: `
    with found as materialized (
      select c.oid, c.relkind, n.oid as home, n.nspname, c.relname
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relname = $2 and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and case when $1::text is null then n.nspname = any (current_schemas(false)) else n.nspname = $1 end
      order by array_position(current_schemas(false), n.nspname)
      limit 1
    )
    select quote_ident(current_user) as user,
      quote_ident(f.nspname) || '.' || quote_ident(f.relname) as quoted, quote_ident(f.nspname) as schema,
      coalesce(f.nspname = 'retoma'::name, false) as "isOurs", f.relkind::text as sort,
      coalesce(has_schema_privilege(f.home, 'usage'), false) as "mayEnter",
      coalesce(has_table_privilege(f.oid, 'select'), false) as "maySelect",
      case when f.relkind in ('r', 'p') then row_security_active(f.oid) else false end as hidden,
      coalesce((
        select jsonb_agg(jsonb_build_object(
          'number', a.attnum, 'name', a.attname, 'quoted', quote_ident(a.attname),
          'type', format_type(a.atttypid, -1),
          'base', format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null),
          'labels', (
            select jsonb_agg(e.enumlabel order by e.enumsortorder) from pg_enum e
            where e.enumtypid = coalesce(nullif(t.typbasetype, 0), t.oid)
          ),
          'isList', t.typcategory = 'A',
          'isLong', coalesce(nullif(t.typbasetype, 0), t.oid) in ('int8'::regtype, 'numeric'::regtype),
          'mayUpdate', has_column_privilege(f.oid, a.attnum, 'update'),
          'isKey', coalesce(a.attnum = any (k.indkey[0:k.indnkeyatts - 1]), false)
        ) order by a.attnum)
        from pg_attribute a join pg_type t on t.oid = a.atttypid
          left join pg_index k on k.indrelid = f.oid and k.indisprimary
        where a.attrelid = f.oid and a.attnum > 0 and not a.attisdropped
      ), '[]') as columns,
      coalesce((
        select jsonb_agg(jsonb_build_object(
          'columns', array(select unnest(i.indkey[0:1])), 'predicate', pg_get_expr(i.indpred, i.indrelid)
        ))
        from pg_index i
        where i.indrelid = f.oid and i.indisvalid
      ), '[]') as indexes,
      array(
        select case when n.nspname = any (current_schemas(false)) then c.relname::text else n.nspname || '.' || c.relname end
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where f.oid is null and c.relkind in ('r', 'p') and not c.relispartition
          and n.nspname <> 'retoma'::name and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
        order by (n.nspname = any (current_schemas(false))) desc, 1
        limit 200
      ) as others
    from (values (1)) one left join found f on true`,
}

/** Throws guard_no_table, guard_no_column, guard_no_rights, guard_unfit. */
export async function readGuardedTable(db: Db, guard: Guard): Promise<GuardedTable> {
  const { schema, name } = guard.table
  const [found] = await db.run<Found>(readTable, [schema, name], readMs)
  const { quoted, sort, columns: listed } = found!
  const table = shownTable(guard.table)
  if (quoted === null) throw new RetomaError('guard_no_table', { table, hint: shortHint(table, found!.others) })
  const unfit = (problem: LocalizedText) => new RetomaError('guard_unfit', { table, problem })
  if (found!.isOurs) throw unfit(localized('it is a table of Retoma', 'é uma tabela do Retoma'))
  const refusal = refusals[sort]
  if (refusal !== undefined) throw unfit(refusal)
  const columns = new Map(listed.map(each => [each.name, each]))
  checkColumns(guard, columns, table)
  checkRights(guard, found!, columns, table)
  checkTypes(guard, columns, unfit)
  return { quoted, columns, warnings: warningsOf(guard, found!, columns) }
}

/** Kinds of relations that cannot be guarded. Partitioned tables can be guarded. */
const refusals: Record<string, LocalizedText> = {
  v: localized('it is a view; name the table it reads', 'é uma view; use a tabela que ela lê'),
  m: localized(
    'it is a materialized view; name the table it reads',
    'é uma view materializada; use a tabela que ela lê',
  ),
  f: localized(
    'it is a foreign table, whose rows cannot be locked here',
    'é uma tabela estrangeira, e suas linhas não podem ser travadas aqui',
  ),
}

function checkColumns(guard: Guard, columns: ReadonlyMap<string, Column>, table: string): void {
  const more = guard.job === null ? [] : [guard.job]
  const used = [guard.status.column, ...guard.signal, ...Object.keys(guard.where), ...more, ...Object.keys(guard.set)]
  for (const column of used) {
    if (!columns.has(column))
      throw new RetomaError('guard_no_column', { table, column, hint: shortHint(column, [...columns.keys()]) })
  }
}

function checkRights({ set }: Guard, found: Found, columns: ReadonlyMap<string, Column>, table: string): void {
  const { user, quoted, schema } = found
  const lacks = (right: string, grant: string) => new RetomaError('guard_no_rights', { user, right, table, grant })
  if (!found.mayEnter) throw lacks('usage (schema)', `grant usage on schema ${schema} to ${user}`)
  if (!found.maySelect) throw lacks('select', `grant select on ${quoted} to ${user}`)
  const barred = Object.keys(set).filter(name => !columns.get(name)!.mayUpdate)
  const list = Object.keys(set).map(name => columns.get(name)!.quoted)
  if (barred.length > 0)
    throw lacks(`update (${barred.join(', ')})`, `grant update (${list.join(', ')}) on ${quoted} to ${user}`)
}

const instants = ['timestamp with time zone', 'timestamp without time zone']

function checkTypes(
  guard: Guard,
  columns: ReadonlyMap<string, Column>,
  unfit: (problem: LocalizedText) => RetomaError,
): void {
  for (const name of guard.signal) {
    const { type, base } = columns.get(name)!
    if (instants.includes(base)) continue
    throw unfit(
      localized(
        `the signal "${name}" is of type ${type}; it must be timestamptz or timestamp`,
        `o signal "${name}" é do tipo ${type}; deve ser timestamptz ou timestamp`,
      ),
    )
  }
  for (const [name, value] of valuesOf(guard)) {
    const { labels, base, type } = columns.get(name)!
    if (isNow(value)) {
      if (instants.includes(base) || base === 'date') continue
      throw unfit(
        localized(
          `"${name}" is of type ${type} and cannot be set to now`,
          `"${name}" é do tipo ${type} e não pode receber now`,
        ),
      )
    }
    const text = valueText(value as GuardValue)
    if (labels === null || text === null || labels.includes(text)) continue
    const hint = hintFor(text, labels)
    throw unfit(
      localized(
        `"${text}" is no value of "${name}" (${type}); ${hint.en}`,
        `"${text}" não é um valor de "${name}" (${type}); ${hint.pt}`,
      ),
    )
  }
}

const valuesOf = ({ status, where, set }: Guard) => [
  ...status.running.map(each => [status.column, each] as const),
  ...Object.entries(where).flatMap(([name, values]) => values.map(each => [name, each] as const)),
  ...Object.entries(set),
]

function warningsOf({ status, signal }: Guard, found: Found, columns: ReadonlyMap<string, Column>): LocalizedText[] {
  const { quoted, sort, indexes, hidden } = found
  const numberOf = (name: string) => found.columns.find(each => each.name === name)!.number
  const [by, at] = [columns.get(status.column)!, columns.get(signal[0]!)!]
  const serves = indexes.some(({ columns: [first, second], predicate }) => {
    if (predicate !== null && !predicate.includes(by.quoted)) return false
    // With several signals the first non-null signal counts; an index on a single signal does not have this order.
    if (signal.length > 1) return first === numberOf(status.column)
    return first === numberOf(signal[0]!) || (first === numberOf(status.column) && second === numberOf(signal[0]!))
  })
  const warnings: LocalizedText[] = []
  if (!serves) {
    // PostgreSQL cannot create an index of a partitioned table concurrently.
    const make = sort === 'p' ? 'create index on' : 'create index concurrently on'
    const advice = `${make} ${quoted} (${by.quoted}, ${at.quoted})`
    warnings.push(
      localized(
        `no index of ${quoted} begins with ${at.quoted}, or with ${by.quoted} and then ${at.quoted}, so every sweep reads the whole table; this helps: ${advice}`,
        `nenhum índice de ${quoted} começa com ${at.quoted}, ou com ${by.quoted} e depois ${at.quoted}, então cada busca lê a tabela inteira; isto ajuda: ${advice}`,
      ),
    )
  }
  if (hidden)
    warnings.push(
      localized(
        `row security of ${quoted} holds for the user ${found.user}: rows that it hides are not guarded`,
        `a segurança por linha de ${quoted} vale para o usuário ${found.user}: linhas que ela esconde não são vigiadas`,
      ),
    )
  return warnings
}

/** Shortens the hint: a table may have hundreds of columns. */
const shortHint = (word: string, known: readonly string[]): LocalizedText => {
  if (known.length === 0) return localized('there is none at all', 'não há nenhuma')
  const hint = hintFor(word, known)
  return hint.en.startsWith('there is') ? hintFor(word, known.slice(0, 20)) : hint
}
