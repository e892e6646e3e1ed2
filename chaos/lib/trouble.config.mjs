/** The config of workers that are started as users start them, with jobs that misbehave; LEDGER names the ledger's file. */
import * as retoma from 'retoma'
import { ledgerWriter } from './ledger.mjs'
import { troubleJobs } from './trouble-jobs.mjs'

const note = process.env.LEDGER ? ledgerWriter(process.env.LEDGER) : undefined

export default retoma.defineConfig({
  jobs: Object.values(troubleJobs(retoma, note)),
  queues: { work: 10, wait: 20 },
})
