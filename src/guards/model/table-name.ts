/**
 * Parses the name of a table of the user: `documents`, `billing.documents`, `"odd.name"`. Capital letters stay as written; double
 * quotes are necessary only around a name with a dot or a quote inside.
 */

export interface TableName {
  /** null: the first schema of the search_path with such a table. */
  readonly schema: string | null
  readonly name: string
}

const part = '"(?:[^"]|"")+"|[^".]+'
const pattern = new RegExp(`^(?:(${part})\\.)?(${part})$`)

/** Returns undefined if `text` is no table name. */
export function parseTable(text: string): TableName | undefined {
  const [, schema, name] = pattern.exec(text) ?? []
  if (name === undefined || !isName(unquoted(name)) || !isName(unquoted(schema ?? 'a'))) return undefined
  return { schema: schema === undefined ? null : unquoted(schema), name: unquoted(name) }
}

/** Parses `column=value`, with double quotes around a column with an equals sign inside; undefined: another form. */
export function parsePair(text: string): { column: string; value: string } | undefined {
  const [, column, value] = /^("(?:[^"]|"")+"|[^"=][^=]*)=(.*)$/s.exec(text) ?? []
  return column === undefined ? undefined : { column: unquoted(column), value: value! }
}

const unquoted = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)

/** Returns true if PostgreSQL allows `name` as an identifier. */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && !name.includes('\u0000') && name.isWellFormed()

/** Returns the name for a sentence. */
export const shownTable = ({ schema, name }: TableName): string => (schema === null ? name : `${schema}.${name}`)
