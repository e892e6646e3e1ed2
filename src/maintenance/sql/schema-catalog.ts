/**
 * Lists the tables of the engine's schema and of the systems' schemas from the catalog, in an order for inserts: the target of a
 * foreign key comes first. Backup and restore read this list, so a new table needs no change there.
 */
import type { Queryable } from '../../database/db.ts'
import { engineSchema, systemsIn } from '../../database/migrate.ts'

export interface TableFacts {
  /** `job` for a table of the engine, `shop.order` for a table of a system. */
  name: string
  schema: string
  /** The table's own name in its schema. */
  table: string
  /** In the order of the row's text form. */
  columns: string[]
  /** Generated columns; never inserted. */
  computed: string[]
  links: Link[]
}

/** A foreign key. */
export interface Link {
  name: string
  to: string
  definition: string
}

const tables = `
  select case s.nspname when 'retoma'::name then c.relname else s.nspname || '.' || c.relname end as name, s.nspname as schema,
    c.relname as table,
    array(
      select attname::text from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum
    ) as columns,
    array(
      select attname::text from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated <> '' order by attnum
    ) as computed,
    coalesce((
      select jsonb_agg(jsonb_build_object('name', conname, 'definition', pg_get_constraintdef(f.oid),
        'to', case tn.nspname when 'retoma'::name then t.relname else tn.nspname || '.' || t.relname end) order by conname)
      from pg_constraint f join pg_class t on t.oid = f.confrelid join pg_namespace tn on tn.oid = t.relnamespace
      where f.conrelid = c.oid and f.contype = 'f' and f.conparentid = 0
    ), '[]') as links
  from pg_class c join pg_namespace s on s.oid = c.relnamespace
  where s.nspname = any ($1) and c.relkind in ('r', 'p') and not c.relispartition
    and not (s.nspname = 'retoma'::name and c.relname in ('migration', 'system_migration'))
  order by s.nspname <> 'retoma'::name, s.nspname collate "C", c.relname collate "C"`

/** Returns all tables except those that only a migration writes. */
export async function readTables(client: Queryable): Promise<TableFacts[]> {
  const { rows } = await client.query(tables, [await schemasIn(client)])
  return inOrder(rows as TableFacts[])
}

/** The schema of the engine, and of each system in the database. */
export const schemasIn = async (client: Queryable): Promise<string[]> => [
  engineSchema(client),
  ...(await systemsIn(client)).map(each => each.name),
]

/**
 * Sorts the tables. If tables refer to each other in a cycle, any of the tables may come first; `backwards` returns the links left open.
 */
function inOrder(tables: TableFacts[]): TableFacts[] {
  const placed: TableFacts[] = []
  const left = [...tables]
  while (left.length > 0) {
    const waits = (table: TableFacts) =>
      table.links.some(({ to }) => to !== table.name && left.some(each => each.name === to))
    const next = left.findIndex(table => !waits(table))
    placed.push(...left.splice(Math.max(next, 0), 1))
  }
  return placed
}

/** Returns the foreign keys to a table that does not come before. No order of rows satisfies these keys during the inserts. */
export function backwards(tables: readonly TableFacts[]): { table: TableFacts; link: Link }[] {
  return tables.flatMap((table, place) =>
    table.links
      .filter(({ to }) => !tables.slice(0, place).some(each => each.name === to))
      .filter(({ to }) => tables.some(each => each.name === to))
      .map(link => ({ table, link })),
  )
}

const sequences = `
  select case s.nspname when 'retoma'::name then c.relname else s.nspname || '.' || c.relname end as name, s.nspname as schema,
    c.relname as table
  from pg_class c join pg_namespace s on s.oid = c.relnamespace
  where s.nspname = any ($1) and c.relkind = 'S'
  order by s.nspname <> 'retoma'::name, s.nspname collate "C", c.relname collate "C"`

export type SequencePlace = Pick<TableFacts, 'name' | 'schema' | 'table'>

export async function readSequences(client: Queryable): Promise<SequencePlace[]> {
  const { rows } = await client.query(sequences, [await schemasIn(client)])
  return rows as SequencePlace[]
}

/** Quotes a name for use in a statement. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const placeOf = ({ schema, table }: Pick<TableFacts, 'schema' | 'table'>): string =>
  `${quoted(schema)}.${quoted(table)}`
