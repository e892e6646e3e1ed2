/**
 * Lists the tables of the schema `retoma` from the catalog, in an order for inserts: the target of a foreign key comes first. Backup and
 * restore read this list, so a new table needs no change there.
 */
import type { Queryable } from '../../database/db.ts'

export interface TableFacts {
  name: string
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
  select c.relname as name,
    array(
      select attname::text from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped order by attnum
    ) as columns,
    array(
      select attname::text from pg_attribute
      where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated <> '' order by attnum
    ) as computed,
    coalesce((
      select jsonb_agg(jsonb_build_object('name', conname, 'to', t.relname, 'definition', pg_get_constraintdef(f.oid)) order by conname)
      from pg_constraint f join pg_class t on t.oid = f.confrelid
      where f.conrelid = c.oid and f.contype = 'f' and f.conparentid = 0
    ), '[]') as links
  from pg_class c
  where c.relnamespace = to_regnamespace('retoma') and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname <> 'migration'
  order by c.relname collate "C"`

/** Returns all tables except `migration`, because only a migration writes this table. */
export async function readTables(client: Queryable): Promise<TableFacts[]> {
  const { rows } = await client.query(tables)
  return inOrder(rows as TableFacts[])
}

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
export function backwards(tables: readonly TableFacts[]): { table: string; link: Link }[] {
  return tables.flatMap((table, place) =>
    table.links
      .filter(({ to }) => !tables.slice(0, place).some(each => each.name === to))
      .filter(({ to }) => tables.some(each => each.name === to))
      .map(link => ({ table: table.name, link })),
  )
}

const sequences = `
  select relname as name from pg_class
  where relnamespace = to_regnamespace('retoma') and relkind = 'S'
  order by relname collate "C"`

export async function readSequences(client: Queryable): Promise<string[]> {
  const { rows } = await client.query(sequences)
  return (rows as { name: string }[]).map(({ name }) => name)
}

/** Quotes a name for use in a statement. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const ours = (name: string): string => `retoma.${quoted(name)}`
