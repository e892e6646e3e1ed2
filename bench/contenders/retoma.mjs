/** Retoma with default settings: finished jobs kept, every outcome fenced, synchronous_commit on. */
import pg from 'pg'
import { createEngine, defineJob } from '../../dist/index.js'

export async function open(url, { mode }) {
  if (mode === 'without history') await withoutHistory()
  let ran = () => {}
  const job = defineJob({
    kind: 'noop',
    queue: 'bench',
    maxAttempts: 1,
    run: async (_, input) => {
      ran(input)
      if (input.fails) throw new Error('as asked')
    },
  })
  const engine = await createEngine({ databaseUrl: url, jobs: [job] })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  let worker
  return {
    addMany: inputs => engine.enqueueMany(job, inputs),
    add: input => engine.enqueue(job, input),
    async work(handler, concurrency) {
      ran = handler
      worker = await engine.work({ queues: { bench: concurrency } })
    },
    async unfinished() {
      const { rows } = await client.query('select count(*)::int as n from retoma.job where finished_at is null')
      return rows[0].n
    },
    async close() {
      await worker?.stop()
      await engine.close()
      await client.end()
    },
  }
}

/** The same worker without the counts for charts, to show what the counts cost. */
async function withoutHistory() {
  const { HistoryCounter } = await import('../../dist/worker/history-counter.js')
  Object.assign(HistoryCounter.prototype, { started() {}, ended() {} })
}
