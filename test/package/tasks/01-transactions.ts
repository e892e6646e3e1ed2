/** An order and its job are written together, with pg, Kysely and Drizzle: a rollback leaves neither. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { createEngine, defineJob } from 'retoma'

const confirm = defineJob({ kind: 'confirm-order', run: (_, { order }: { order: string }) => `confirmed ${order}` })

interface Tables {
  orders: { id: string }
}

class Change extends Error {}

test('an order commits with its job, and rolls back with its job', async () => {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
  await pool.query('create table orders (id text primary key)')
  await using engine = await createEngine({ jobs: [confirm] })
  const kysely = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const db = drizzle(pool)

  const write: Record<string, (order: string, fails: boolean) => Promise<unknown>> = {
    async pg(order, fails) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await client.query('insert into orders values ($1)', [order])
        await engine.enqueue(confirm, { order }, { tx: client, ref: order })
        if (fails) throw new Change()
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    kysely: (order, fails) =>
      kysely.transaction().execute(async tx => {
        await tx.insertInto('orders').values({ id: order }).execute()
        await engine.enqueue(confirm, { order }, { tx, ref: order })
        if (fails) throw new Change()
      }),
    drizzle: (order, fails) =>
      db.transaction(async tx => {
        await tx.execute(drizzleSql`insert into orders values (${order})`)
        await engine.enqueue(confirm, { order }, { tx, ref: order })
        if (fails) throw new Change()
      }),
  }

  for (const [name, insert] of Object.entries(write)) {
    await assert.rejects(insert(`${name}-lost`, true), Change)
    await insert(`${name}-kept`, false)
  }
  const { rows } = await pool.query<{ id: string }>('select id from orders order by id')
  const { items } = await engine.jobs.list({ kind: 'confirm-order' })
  const kept = ['drizzle-kept', 'kysely-kept', 'pg-kept']
  assert.deepEqual(
    rows.map(({ id }) => id),
    kept,
  )
  assert.deepEqual(items.map(({ ref }) => ref).sort(), kept)

  await using worker = await engine.work()
  for (const { id } of items) assert.equal((await engine.wait({ job: id })).state, 'succeeded')
  await worker.stop()
  await pool.end()
})
