/**
 * The tables of our schema as the catalog lists them, in an order in which they can be filled: what a foreign key points
 * to comes first. Read by backup and restore, so that a new table is part of both without a word there.
 */
import type { Queryable } from './db.ts'

export interface TableFacts {
  name: string
  /** In the order of the row's text form. */
  columns: string[]
  /** Computed by the database, so never inserted. */
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

/** All but the list of migrations, which only a migration writes. */
export async function readTables(client: Queryable): Promise<TableFacts[]> {
  const { rows } = await client.query(tables)
  return inOrder(rows as TableFacts[])
}

/** Of tables that point to each other in a circle, any may come first: `backwards` says which links that leaves open. */
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

/** Links to a table that does not come before: no order of rows satisfies them on the way. */
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

/** A name as part of a statement. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
export const ours = (name: string): string => `retoma.${quoted(name)}`
