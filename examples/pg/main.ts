/**
 * An order and the job that follows from it, in one transaction of node-postgres: both are there, or neither is.
 *
 * DATABASE_URL=postgres://… npm start
 */
import pg from 'pg'
import { createEngine, defineJob } from 'retoma'

const invoice = defineJob({
  kind: 'invoice',
  run: (_, { order }: { order: number }) => console.log(`the invoice of order ${order} is made`),
})

const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
await client.connect()
await client.query(
  'create table if not exists example_order (id integer generated always as identity primary key, customer text not null)',
)
const engine = await createEngine({ jobs: [invoice] })
await engine.work()

// Committed, the job runs at once.
await client.query('begin')
const { rows } = await client.query(`insert into example_order (customer) values ('Ana') returning id`)
const { id } = await engine.enqueue(invoice, { order: rows[0].id }, { tx: client })
await client.query('commit')
console.log(`committed: ${(await engine.wait({ job: id })).state}`)

// Rolled back, there is no job.
let never = ''
await client.query('begin')
never = (await engine.enqueue(invoice, { order: 0 }, { tx: client })).id
await client.query('rollback')
console.log(`rolled back: ${(await engine.job(never)) ?? 'no job'}`)

await engine.close()
await client.end()
