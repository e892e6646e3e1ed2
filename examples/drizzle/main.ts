/**
 * An order and the job that follows from it, in one Drizzle transaction: both are there, or neither is.
 *
 * DATABASE_URL=postgres://… npm start
 */
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { createEngine, defineJob } from 'retoma'

const invoice = defineJob({
  kind: 'invoice',
  run: (_, { order }: { order: number }) => console.log(`the invoice of order ${order} is made`),
})

const orders = pgTable('example_order', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  customer: text().notNull(),
})
const db = drizzle(process.env.DATABASE_URL!)
await db.execute(
  'create table if not exists example_order (id integer generated always as identity primary key, customer text not null)',
)
const engine = await createEngine({ jobs: [invoice] })
await engine.work()

// Committed, the job runs at once.
const { id } = await db.transaction(async tx => {
  const [order] = await tx.insert(orders).values({ customer: 'Ana' }).returning()
  return engine.enqueue(invoice, { order: order!.id }, { tx })
})
console.log(`committed: ${(await engine.wait({ job: id })).state}`)

// Rolled back, there is no job.
let never = ''
await db
  .transaction(async tx => {
    never = (await engine.enqueue(invoice, { order: 0 }, { tx })).id
    tx.rollback()
  })
  .catch(() => {})
console.log(`rolled back: ${(await engine.job(never)) ?? 'no job'}`)

await engine.close()
await db.$client.end()
