/**
 * An order and the job that follows from it, in one Kysely transaction: both are there, or neither is.
 *
 * DATABASE_URL=postgres://… npm start
 */
import { type Generated, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { createEngine, defineJob } from 'retoma'

const invoice = defineJob({
  kind: 'invoice',
  run: (_, { order }: { order: number }) => console.log(`the invoice of order ${order} is made`),
})

interface Tables {
  example_order: { id: Generated<number>; customer: string }
}
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
const table = sql`create table if not exists example_order (id integer generated always as identity primary key, customer text not null)`
await table.execute(db)
const engine = await createEngine({ jobs: [invoice] })
await engine.work()

// Committed, the job runs at once.
const { id } = await db.transaction().execute(async trx => {
  const order = await trx
    .insertInto('example_order')
    .values({ customer: 'Ana' })
    .returning('id')
    .executeTakeFirstOrThrow()
  return engine.enqueue(invoice, { order: order.id }, { tx: trx })
})
console.log(`committed: ${(await engine.wait({ job: id })).state}`)

// Rolled back, there is no job.
let never = ''
await db
  .transaction()
  .execute(async trx => {
    never = (await engine.enqueue(invoice, { order: 0 }, { tx: trx })).id
    throw new Error('changed our mind')
  })
  .catch(() => {})
console.log(`rolled back: ${(await engine.job(never)) ?? 'no job'}`)

await engine.close()
await db.destroy()
