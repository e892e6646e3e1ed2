/**
 * Parses the values that PostgreSQL sends to the engine. A program may replace parsers of pg for itself, for all connections
 * (`pg.types.setTypeParser`) or for a pool; the engine reads its own rows with the parsers of the driver as they were at load.
 */
import pg from 'pg'

type Parser = (value: never) => unknown

/** Beyond every built-in type of PostgreSQL that the driver knows. */
const beyond = 5000

const formats = ['text', 'binary'] as const
const parsers = Object.fromEntries(
  formats.map(format => [
    format,
    new Map(Array.from({ length: beyond }, (_, id) => [id, pg.types.getTypeParser(id, format as 'text') as Parser])),
  ]),
) as Record<(typeof formats)[number], Map<number, Parser>>
const unknown = parsers.text.get(0)!

export const ownTypes = {
  getTypeParser: (id: number, format: 'text' | 'binary' = 'text') => parsers[format].get(id) ?? unknown,
} as unknown as pg.CustomTypesConfig
