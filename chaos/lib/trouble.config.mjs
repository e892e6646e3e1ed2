/** The config of supervised workers with misbehaving jobs. LEDGER is the path of the ledger. */
import * as retoma from 'retoma'
import { ledgerWriter } from './ledger.mjs'
import { troubleJobs } from './trouble-jobs.mjs'

const note = process.env.LEDGER ? ledgerWriter(process.env.LEDGER) : undefined

export default retoma.defineConfig({
  jobs: Object.values(troubleJobs(retoma, note)),
  queues: { work: 10, wait: 20 },
})
