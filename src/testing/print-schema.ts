/**
 * Prints the schema from PostgreSQL's catalog as a stable text: sql/schema.sql contains this text, and CI fails if the file is stale.
 * Written here because the embedded package has no pg_dump.
 */
import pg from 'pg'
import { createEngine, type SystemParts } from '../engine/create-engine.ts'
import { createTestDatabase } from './test-database.ts'

/** @public for scripts/docs. `system`: prints the schema of this system instead of the engine's. */
export async function printSchema(serverUrl?: string, system?: SystemParts): Promise<string> {
  const database = await createTestDatabase(serverUrl)
  try {
    const engine = await createEngine({
      databaseUrl: database.url,
      log: false,
      systems: system === undefined ? [] : [system],
    })
    await engine.close()
    return await readCatalog(database.url, system?.name)
  } finally {
    await database.drop()
  }
}

const tables = `
  select c.oid::int as oid, c.relname as name
  from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind = 'r'
  order by c.relname`

const columns = `
  select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "notNull",
    pg_get_expr(d.adbin, d.adrelid) as "default", a.attidentity as identity,
    case when co.collname <> 'default' then co.collname end as collation
  from pg_attribute a
    left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    left join pg_collation co on co.oid = a.attcollation
  where a.attrelid = $1 and a.attnum > 0 and not a.attisdropped
  order by a.attnum`

// Since PostgreSQL 18 not-null constraints have rows of their own; the columns already show not null.
const constraints = `
  select conname as name, pg_get_constraintdef(oid) as definition
  from pg_constraint
  where conrelid = $1 and contype <> 'n'
  order by contype, conname`

const indexes = `
  select pg_get_indexdef(i.indexrelid) as definition
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = $1 and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
  order by c.relname`

const views = `
  select c.relname as name, pg_get_viewdef(c.oid, true) as definition
  from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind = 'v'
  order by c.relname`

const functions = `
  select pg_get_functiondef(p.oid) as definition
  from pg_proc p
  where p.pronamespace = $1::text::regnamespace
  order by p.proname`

interface Column {
  name: string
  type: string
  notNull: boolean
  default: string | null
  identity: string
  collation: string | null
}

export async function readCatalog(url: string, schema = 'retoma'): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`set search_path = ''`) // so that every name is printed with its schema
    const read = async <Row>(text: string, values: unknown[] = []) => (await client.query(text, values)).rows as Row[]
    const printed: string[] = [heading]
    for (const table of await read<{ oid: number; name: string }>(tables, [schema])) {
      const lines = [
        ...(await read<Column>(columns, [table.oid])).map(columnLine),
        ...(await read<{ name: string; definition: string }>(constraints, [table.oid])).map(
          each => `constraint ${each.name} ${each.definition}`,
        ),
      ]
      printed.push(`create table ${schema}.${table.name} (\n  ${lines.join(',\n  ')}\n);`)
      for (const { definition } of await read<{ definition: string }>(indexes, [table.oid]))
        printed.push(`${definition};`)
    }
    for (const { definition } of await read<{ definition: string }>(functions, [schema]))
      printed.push(`${definition.trimEnd()};`)
    for (const view of await read<{ name: string; definition: string }>(views, [schema]))
      printed.push(`create view ${schema}.${view.name} as\n${view.definition.trimEnd()}`)
    return `${printed.join('\n\n')}\n`
  } finally {
    await client.end()
  }
}

function columnLine(column: Column): string {
  const parts = [column.name, column.type]
  if (column.collation !== null) parts.push(`collate "${column.collation}"`)
  if (column.identity !== '') parts.push(`generated ${column.identity === 'a' ? 'always' : 'by default'} as identity`)
  if (column.notNull) parts.push('not null')
  if (column.default !== null) parts.push(`default ${column.default}`)
  return parts.join(' ')
}

const heading = `-- The schema after all migrations, read from PostgreSQL's catalog by \`npm run docs\`. Do not edit: change sql/NNN_*.sql.`
