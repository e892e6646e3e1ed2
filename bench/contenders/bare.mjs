/**
 * The same statements as Retoma, in a bare loop: no handlers, no attempts, no deadlines, no heartbeats. The loop claims
 * the next 500 jobs while the loop settles the last 500. The difference to Retoma is the cost of Retoma's machinery.
 */
import pg from 'pg'
import { createEngine, defineJob } from '../../dist/index.js'
import { openStatements } from '../lib/statements.mjs'

const chunk = 500

export async function open(url) {
  const job = defineJob({ kind: 'noop', queue: 'bench', maxAttempts: 1, run: async () => {} })
  const engine = await createEngine({ databaseUrl: url, jobs: [job] })
  const statements = await openStatements(url, { queues: ['bench'], kinds: ['noop'] })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    addMany: inputs => engine.enqueueMany(job, inputs),
    async work(handler) {
      let settling = Promise.resolve()
      for (;;) {
        const claimed = await statements.claim(chunk)
        await settling
        if (claimed.length === 0) return
        settling = statements.settle(claimed, outcomeOf)
        for (const { input } of claimed) handler(input)
      }
    },
    async unfinished() {
      const { rows } = await client.query('select count(*)::int as n from retoma.job where finished_at is null')
      return rows[0].n
    },
    async close() {
      await statements.close()
      await engine.close()
      await client.end()
    },
  }
}

const failure = { type: 'error', message: 'as asked', code: null, stack: new Error('as asked').stack }

function outcomeOf({ input }) {
  return input.fails ? { state: 'failed', failure } : { state: 'succeeded', result: 'null' }
}
