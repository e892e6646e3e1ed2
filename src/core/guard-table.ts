/**
 * The name of a table that is not ours, as people write it: `documents`, `billing.documents`, `"odd.name"`. It is taken as it
 * stands, capitals included; double quotes are needed only around a name that holds a dot or a quote itself.
 */

export interface TableName {
  /** null: the first schema of the search_path that has it. */
  readonly schema: string | null
  readonly name: string
}

const part = '"(?:[^"]|"")+"|[^".]+'
const pattern = new RegExp(`^(?:(${part})\\.)?(${part})$`)

/** Undefined: it is no name of a table. */
export function parseTable(text: string): TableName | undefined {
  const [, schema, name] = pattern.exec(text) ?? []
  if (name === undefined || !isName(unquoted(name)) || !isName(unquoted(schema ?? 'a'))) return undefined
  return { schema: schema === undefined ? null : unquoted(schema), name: unquoted(name) }
}

/** `column=value`, the column in double quotes where it holds an equals sign; undefined: it is not of that form. */
export function parsePair(text: string): { column: string; value: string } | undefined {
  const [, column, value] = /^("(?:[^"]|"")+"|[^"=][^=]*)=(.*)$/s.exec(text) ?? []
  return column === undefined ? undefined : { column: unquoted(column), value: value! }
}

const unquoted = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name)

/** Whether PostgreSQL could have anything of that name. */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && !name.includes('\u0000') && name.isWellFormed()

/** As it is written in a sentence. */
export const shownTable = ({ schema, name }: TableName): string => (schema === null ? name : `${schema}.${name}`)
