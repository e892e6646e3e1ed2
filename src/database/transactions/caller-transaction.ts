/**
 * Runs statements in the caller's transaction: a pg client, or the transaction object of Drizzle, Kysely, Prisma or
 * postgres.js. The object is recognized by its public methods; no such library is a dependency.
 *
 * Invariant: the statements are the same as on the engine's pool. Every value is sent as text for PostgreSQL to cast,
 * because each driver converts arrays, dates and JSON in its own way; for the same reason results are text and booleans.
 * Anything but a transaction is refused: on a pool or a database object the job would not be part of the transaction.
 */
import pg from 'pg'
import { type LocalizedText, localized, RetomaError } from '../../errors/errors.ts'
import type { Run } from '../db.ts'
import type { SchemaNames } from '../schema-name.ts'

/** `Client` or `PoolClient` of pg, between begin and commit. */
interface PgTransaction {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** The `tx` of `db.transaction(async tx => …)`, with any driver below Drizzle. */
interface DrizzleTransaction {
  execute(query: string): PromiseLike<unknown>
  rollback(): never
}

/** The `trx` of `db.transaction().execute(async trx => …)`. */
interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: never): Promise<{ rows: unknown[] }>
}

/** The `tx` of `prisma.$transaction(async tx => …)`. */
interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/** The `sql` of `sql.begin(async sql => …)`. */
interface PostgresJsTransaction {
  unsafe(query: string, values?: never[]): PromiseLike<unknown>
  savepoint(work: never): Promise<unknown>
}

/** A transaction of the caller: of pg, Drizzle, Kysely, Prisma, postgres.js or `engine.transaction`. */
export type Transaction =
  | PgTransaction
  | DrizzleTransaction
  | KyselyTransaction
  | PrismaTransaction
  | PostgresJsTransaction

type Send = (text: string, values: (string | null)[]) => PromiseLike<unknown>

/**
 * Returns the caller's transaction as a Run. Prepares no statement: the connection belongs to the caller and may pass a
 * pooler.
 */
export function runInCallerTransaction(tx: Transaction, names: SchemaNames): Run {
  const send = sender(tx as object)
  return async <Row>(statement: { text: string }, values: unknown[]) => {
    const answer = await send(names.statement(statement).text.replaceAll(/\$\d+/g, '$&::text'), values.map(asText))
    return (Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows) as Row[]
  }
}

function sender(tx: object): Send {
  const has = (name: string) => typeof (tx as Record<string, unknown>)?.[name] === 'function'
  const given = <Shape>() => tx as Shape

  if (has('$queryRawUnsafe')) {
    if (has('$connect'))
      refuse(
        localized('a whole PrismaClient', 'um PrismaClient inteiro'),
        part('tx', 'prisma.$transaction(async tx => …)'),
      )
    return (text, values) => given<PrismaTransaction>().$queryRawUnsafe(text, ...values)
  }
  if (has('executeQuery')) {
    const kysely = given<KyselyTransaction>()
    if (!kysely.isTransaction)
      refuse(
        localized('a whole Kysely database', 'um banco inteiro do Kysely'),
        part('trx', 'db.transaction().execute(async trx => …)'),
      )
    return (text, values) => kysely.executeQuery(compiled(text, values) as never)
  }
  if (has('unsafe')) {
    if (!has('savepoint'))
      refuse(
        localized('a whole postgres.js pool', 'um pool inteiro do postgres.js'),
        part('sql', 'sql.begin(async sql => …)'),
      )
    return (text, values) => given<PostgresJsTransaction>().unsafe(text, values as never[])
  }
  if (has('execute')) {
    if (!has('rollback'))
      refuse(localized('a whole database', 'um banco inteiro'), part('tx', 'db.transaction(async tx => …)'))
    return (text, values) => given<DrizzleTransaction>().execute(inlined(text, values))
  }
  if (has('query')) {
    if ('totalCount' in tx)
      refuse(
        localized('a pool, which runs each statement anywhere', 'um pool, que roda cada comando em qualquer conexão'),
        localized(
          'the client of pool.connect(), between begin and commit',
          'o client de pool.connect(), entre begin e commit',
        ),
      )
    // pg would keep the statement until a connect() that may never come.
    const { _connected, _connecting } = tx as { _connected?: unknown; _connecting?: unknown }
    if (_connected === false && _connecting === false)
      refuse(
        localized('a client without a connection', 'um client sem conexão'),
        localized(
          'a client after await client.connect(), between begin and commit',
          'um client depois de await client.connect(), entre begin e commit',
        ),
      )
    return (text, values) => given<PgTransaction>().query(text, values)
  }
  return refuse(
    nameOf(tx),
    localized(
      'a client of pg, or the transaction of Drizzle, Kysely, Prisma or postgres.js',
      'um client do pg, ou a transação de Drizzle, Kysely, Prisma ou postgres.js',
    ),
  )
}

function refuse(is: LocalizedText, give: LocalizedText): never {
  const problem = localized(`it is ${is.en}; give ${give.en}`, `é ${is.pt}; passe ${give.pt}`)
  throw new RetomaError('bad_option', { option: 'tx', problem })
}

const part = (name: string, call: string): LocalizedText => localized(`the ${name} of ${call}`, `o ${name} de ${call}`)

function nameOf(value: unknown): LocalizedText {
  if (value === null) return localized('null', 'null')
  if (typeof value !== 'object') return localized(`a ${typeof value}`, `um valor do tipo ${typeof value}`)
  const name = value.constructor?.name
  return name && name !== 'Object'
    ? localized(`a ${name}`, `um ${name}`)
    : localized('an object without any of their methods', 'um objeto sem nenhum dos métodos deles')
}

/** Builds the same object as Kysely's own `CompiledQuery.raw`. */
function compiled(sql: string, parameters: (string | null)[]) {
  const queryId = { queryId: 'retoma' }
  return { sql, parameters, queryId, query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] } }
}

/** Drizzle accepts a text without values, or an object that only its own package can create. */
function inlined(text: string, values: (string | null)[]): string {
  return text.replaceAll(/\$(\d+)/g, (_, place: string) => {
    const value = values[Number(place) - 1]
    return value == null ? 'null' : pg.escapeLiteral(value)
  })
}

/** Encodes for PostgreSQL: an array as `{"a",NULL}`, an instant in UTC. */
function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(item => quoted(asText(item))).join(',')}}`
  return value instanceof Date ? value.toISOString() : String(value)
}

const quoted = (item: string | null): string =>
  item === null ? 'NULL' : `"${item.replaceAll(/["\\]/g, String.raw`\$&`)}"`
