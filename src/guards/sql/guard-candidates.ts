/**
 * Reads the tables of the user that a guard could cover, and the values of a column, from the catalog. `retoma init`
 * calls this for a database that may have no Retoma schema. Writes nothing, and reads only the first rows of a large
 * table.
 */

import type { Db } from '../../database/db.ts'
import type { SeenColumn, SeenTable } from '../model/guard-proposal.ts'

export interface Candidate extends SeenTable {
  columns: (SeenColumn & { quoted: string })[]
  /** Schema and name, quoted for a statement. */
  quoted: string
}

const readMs = 8000

const tables = {
  name: 'guard_candidates',
  text: `
    select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as quoted,
      case when n.nspname = any (current_schemas(false)) then '' else written.schema || '.' end || written.name as table,
      jsonb_agg(jsonb_build_object(
        'name', a.attname, 'quoted', quote_ident(a.attname),
        'sort', case when b.typcategory = 'D' then 'instant' else 'text' end,
        'labels', (select jsonb_agg(e.enumlabel order by e.enumsortorder) from pg_enum e where e.enumtypid = b.oid)
      ) order by a.attnum) as columns
    from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
      join pg_type b on b.oid = coalesce(nullif(t.typbasetype, 0), t.oid)
      cross join lateral (
        select case when n.nspname ~ '[".]' then '"' || replace(n.nspname, '"', '""') || '"' else n.nspname end as schema,
          case when c.relname ~ '[".]' then '"' || replace(c.relname, '"', '""') || '"' else c.relname end as name
      ) written
    where c.relkind in ('r', 'p') and not c.relispartition
      and n.nspname <> 'retoma'::name and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'
      and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
      and (b.typcategory in ('S', 'E') or b.oid in ('timestamptz'::regtype, 'timestamp'::regtype))
    group by n.nspname, c.relname, written.schema, written.name
    order by n.nspname, c.relname
    limit 500`,
}

export const guardCandidates = (db: Db): Promise<Candidate[]> => db.run<Candidate>(tables, [], readMs)

/** Returns the distinct values of the column in the first 10,000 rows of the table. */
export async function valuesIn(db: Db, { quoted }: Candidate, column: { quoted: string }): Promise<string[]> {
  const text = `
    select distinct value
    from (select ${column.quoted}::text as value from ${quoted} limit 10000) first
    where value is not null
    limit 100`
  const { rows } = await db.transaction(async client => {
    await client.query('set transaction read only')
    return client.query(text)
  }, readMs)
  return (rows as { value: string }[]).map(({ value }) => value)
}
