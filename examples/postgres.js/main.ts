/**
 * An order and the job that follows from it, in one transaction of postgres.js: both are there, or neither is.
 *
 * DATABASE_URL=postgres://… npm start
 */
import postgres from 'postgres'
import { createEngine, defineJob } from 'retoma'

const invoice = defineJob({
  kind: 'invoice',
  run: (_, { order }: { order: number }) => console.log(`the invoice of order ${order} is made`),
})

const sql = postgres(process.env.DATABASE_URL ?? '', { onnotice: () => {} })
await sql`create table if not exists example_order (id integer generated always as identity primary key, customer text not null)`
const engine = await createEngine({ jobs: [invoice] })
await engine.work()

// Committed, the job runs at once.
const { id } = await sql.begin(async tx => {
  const [order] = await tx<[{ id: number }]>`insert into example_order (customer) values ('Ana') returning id`
  return engine.enqueue(invoice, { order: order.id }, { tx })
})
console.log(`committed: ${(await engine.wait({ job: id })).state}`)

// Rolled back, there is no job.
let never = ''
await sql
  .begin(async tx => {
    never = (await engine.enqueue(invoice, { order: 0 }, { tx })).id
    throw new Error('changed our mind')
  })
  .catch(() => {})
console.log(`rolled back: ${(await engine.job(never)) ?? 'no job'}`)

await engine.close()
await sql.end()
