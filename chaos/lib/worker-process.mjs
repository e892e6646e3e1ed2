/**
 * `node worker-process.mjs '{"url":…}'`: runs a worker, prints the worker's id when the worker is ready, and ends
 * when the parent process is gone.
 */
import { openSync, writeSync } from 'node:fs'
import { createEngine } from '../../dist/index.js'
import { createLog } from '../../dist/lib/logging/log.js'
import { chaosJobs } from './jobs.mjs'
import { ledgerWriter } from './ledger.mjs'

const {
  url,
  ledger,
  log: logPath,
  released,
  times = 1,
  queues = { default: 5, hold: 2, steps: 20 },
} = JSON.parse(process.argv[2])
process.stdin.resume().on('end', () => process.exit(1))

const file = openSync(logPath, 'a')
const log = createLog({ level: 'info', format: 'json', write: text => writeSync(file, text) })
let worker
const jobs = chaosJobs(ledgerWriter(ledger), () => worker.id, released)
const engine = await createEngine({ databaseUrl: url, jobs: Object.values(jobs), migrate: false, log })
worker = await engine.work({ queues })
// More workers in the same process, each with a separate engine.
for (let more = 1; more < times; more++) {
  const other = await createEngine({ databaseUrl: url, jobs: Object.values(jobs), migrate: false, log, connections: 2 })
  await other.work({ queues })
}
process.on('SIGTERM', () => engine.close().then(() => process.exit(0)))
console.log(worker.id)
