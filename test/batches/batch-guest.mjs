/** A worker process for batch-kill.test.ts: notes each start and each end of an item in the database, apart from ours. */
import pg from 'pg'
import { createEngine, defineBatch, defineJob } from '../../dist/index.js'

const databaseUrl = process.argv[2]
process.stdin.resume().on('end', () => process.exit(1))
const notes = new pg.Pool({ connectionString: databaseUrl, max: 5 })

const item = defineJob({
  kind: 'item',
  queue: 'items',
  run: async (_, n) => {
    await notes.query(`insert into public.starts (n) values ($1)`, [n])
    await notes.query(`select pg_sleep(0.005)`)
  },
})
const over = defineJob({ kind: 'over', queue: 'items', run: () => {} })
const batch = defineBatch({ name: 'b', job: item, onComplete: over })
const engine = await createEngine({ databaseUrl, batches: [batch], migrate: false })
await engine.work({ queues: { items: 5 } })
process.stdout.write('ready')
