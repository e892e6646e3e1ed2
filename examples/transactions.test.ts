/**
 * `tx` accepts the transactions of several drivers, and each driver converts arrays, dates and JSON differently: a job
 * must not depend on the driver. The real drivers, on a real PostgreSQL.
 */
import { PrismaPg } from '@prisma/adapter-pg'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnPostgresJs } from 'drizzle-orm/postgres-js'
import { CamelCasePlugin, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, type EnqueueOptions, milliseconds, type Transaction } from '../src/index.ts'
import { engineWith, until } from '../test/support/engine.ts'
import { PrismaClient } from './prisma/generated/client.ts'

interface Driver {
  /** Commits, or rolls back when the work throws. */
  inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** A value which is not a transaction, but which a careless person may pass. */
  whole: unknown
}

const drivers: Record<string, (url: string) => Driver> = {
  pg(url) {
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    return {
      whole: pool,
      async inTransaction(work) {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const value = await work(client)
          await client.query('commit')
          return value
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
    }
  },
  Drizzle(url) {
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    const db = drizzle(pool)
    return { whole: db, inTransaction: work => db.transaction(tx => work(tx)) }
  },
  'Drizzle on postgres.js'(url) {
    const sql = postgres(partsOf(url))
    onTestFinished(() => sql.end())
    const db = drizzleOnPostgresJs(sql)
    return { whole: db, inTransaction: work => db.transaction(tx => work(tx)) }
  },
  Kysely(url) {
    const pool = new pg.Pool({ connectionString: url })
    const db = new Kysely({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] })
    onTestFinished(() => db.destroy())
    return { whole: db, inTransaction: work => db.transaction().execute(trx => work(trx)) }
  },
  Prisma(url) {
    const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) })
    onTestFinished(() => prisma.$disconnect())
    return { whole: prisma, inTransaction: work => prisma.$transaction(tx => work(tx)) }
  },
  'postgres.js'(url) {
    const sql = postgres(partsOf(url))
    onTestFinished(() => sql.end())
    // The type of postgres.js unwraps arrays in the result of the work.
    return { whole: sql, inTransaction: work => sql.begin(tx => work(tx)) as ReturnType<typeof work> }
  },
}

/** postgres.js does not read the folder of a socket from an address. */
function partsOf(url: string) {
  const { pathname, username, port, searchParams } = new URL(url)
  return { path: `${searchParams.get('host')}/.s.PGSQL.${port}`, database: pathname.slice(1), username }
}

const job = defineJob({ kind: 'k', queue: 'q', run: (_, input: unknown) => input })
/** Texts which a driver may misread. */
const texts = [
  'a"b\\c',
  "it's",
  '{x,NULL}',
  'NULL',
  '$1',
  ':name ?',
  '2030-01-01T12:00:00Z',
  '12',
  'ção 😀',
  '\n\t',
  ' ',
]
const inputs = [...texts, null, true, 0, -1.5e-7, [], [null, [1]], {}, { a: texts, b: { c: null, $1: '?' } }]

interface Row {
  key: string | null
  created_at: Date
}

async function stage(name: string) {
  const { engine, clock, databaseUrl } = await engineWith(job)
  const driver = drivers[name]!(databaseUrl)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const rows = async (): Promise<Row[]> => {
    const columns = `queue, kind, key, unique_until, ref, state, claim_rank, run_at::text, input::text, group_key, created_at::text`
    return (await client.query<Row>(`select ${columns} from retoma.job order by id`)).rows
  }
  const emptied = () => client.query('delete from retoma.job')
  return { engine, clock, rows, emptied, ...driver }
}

describe.each(Object.keys(drivers))('with a transaction of %s', name => {
  test('a job is the same as without one, whatever it holds', async () => {
    const { engine, rows, emptied, inTransaction } = await stage(name)
    const options = (text: string, i: number): EnqueueOptions => ({
      key: text, ref: text, groupKey: text, priority: i % 10,
      ...(i % 3 === 0 ? { runAt: new Date(Date.UTC(2031, 0, 1) + i) } : { delay: milliseconds(i + 0.25) }),
      ...(i % 2 === 0 ? { keyUntil: 'final' as const } : {}),
    }) // biome-ignore format: a list
    const all = async (tx?: Transaction) => {
      const within = tx === undefined ? {} : { tx }
      for (const input of inputs) await engine.enqueue(job, input, within)
      for (const [i, text] of texts.entries()) await engine.enqueue(job, text, { ...options(text, i), ...within })
      await engine.enqueueMany(job, inputs, { groupKey: texts[0]!, delay: milliseconds(1.5), ...within })
      const each = (_: unknown, i: number) => (i < 2 ? {} : options(`${texts[i - 2]}, another`, i))
      return engine.enqueueMany(job, inputs.slice(0, texts.length + 2), { each, ...within })
    }
    const { ids } = await all()
    const without = await rows()
    await emptied()
    const within = await inTransaction(all)
    expect(await rows()).toEqual(without)
    expect(without).toHaveLength(2 * inputs.length + 2 * texts.length + 2)
    expect(within).toMatchObject({ created: ids.length, duplicates: 0 })
    for (const id of within.ids) expect(id).toMatch(/^\d+$/)
  })

  test('a key is held by the job that has it, within the transaction and outside of it', async () => {
    const { engine, inTransaction } = await stage(name)
    const before = await engine.enqueue(job, 1, { key: 'before' })
    const [first, second, third, many] = await inTransaction(
      async tx =>
        [
          await engine.enqueue(job, 2, { key: 'within', tx }),
          await engine.enqueue(job, 3, { key: 'within', tx }),
          await engine.enqueue(job, 4, { key: 'before', tx }),
          await engine.enqueueMany(job, ['before', 'within', 'new'], { each: key => ({ key: String(key) }), tx }),
        ] as const,
    )
    expect(first.created).toBe(true)
    expect(second).toEqual({ id: first.id, created: false })
    expect(third).toEqual({ id: before.id, created: false })
    expect(many).toMatchObject({
      created: 1,
      duplicates: 2,
      ids: [before.id, first.id, expect.stringMatching(/^\d+$/)],
    })
  })

  test('rolled back, nothing is left', async () => {
    const { engine, rows, inTransaction } = await stage(name)
    const work = inTransaction(async tx => {
      await engine.enqueue(job, 1, { key: 'a', tx })
      await engine.enqueueMany(job, [1, 2, 3], { tx })
      throw new Error('changed our mind')
    })
    await expect(work).rejects.toThrow('changed our mind')
    expect(await rows()).toEqual([])
  })

  test('committed, it runs long before the next poll', async () => {
    const { engine, clock, inTransaction } = await stage(name)
    await engine.work()
    await until(() => clock.sleepers >= 3)
    const { id } = await inTransaction(tx => engine.enqueue(job, 'x', { tx }))
    await clock.advance(milliseconds(500))
    expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 'x' })
  })

  test('what is not a transaction is refused, with what to give', async () => {
    const { engine, rows, whole } = await stage(name)
    const tx = whole as Transaction
    const refused = { code: 'bad_option', message: expect.stringMatching(/the option tx .* give the \w+ of /) }
    await expect(engine.enqueue(job, 1, { tx })).rejects.toMatchObject(refused)
    await expect(engine.enqueueMany(job, [1], { tx })).rejects.toMatchObject(refused)
    expect(await rows()).toEqual([])
  })
})

test('anything else is refused by its name', async () => {
  const { engine } = await engineWith(job)
  for (const [given, said] of [
    [new Map(), 'a Map'],
    [null, 'null'],
    ['tx', 'a string'],
    [{}, 'an object'],
  ] as const) {
    const refused = engine.enqueue(job, 1, { tx: given as unknown as Transaction })
    await expect(refused).rejects.toMatchObject({
      code: 'bad_option',
      message: expect.stringContaining(`it is ${said}`),
    })
  }
})
