/**
 * graphile-worker, with default settings and in the fastest mode (a local queue of 500, outcomes written in batches).
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

const logger = new Logger(() => () => {})
const fastest = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

export async function open(url, { mode }) {
  const utils = await makeWorkerUtils({ connectionString: url, logger })
  await utils.migrate()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  let runner
  return {
    addMany: inputs => utils.addJobs(inputs.map(payload => ({ identifier: 'noop', payload, maxAttempts: 1 }))),
    add: payload => utils.addJob('noop', payload, { maxAttempts: 1 }),
    async work(handler, concurrency) {
      const noop = async payload => {
        handler(payload)
        if (payload.fails) throw new Error('as asked')
      }
      const preset = {
        worker: { concurrentJobs: concurrency, maxPoolSize: 10, ...(mode === 'fastest' ? fastest : {}) },
      }
      runner = await run({ connectionString: url, taskList: { noop }, logger, noHandleSignals: true, preset })
    },
    async unfinished() {
      const { rows } = await client.query(
        'select count(*)::int as n from graphile_worker._private_jobs where attempts < max_attempts',
      )
      return rows[0].n
    },
    async close() {
      await runner?.stop()
      await utils.release()
      await client.end()
    },
  }
}
