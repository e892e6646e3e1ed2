/** A worker process of the classifier, for kill.test.ts. */

import { createEngine } from '../../../dist/index.js'
import { createJobs } from '../dist/jobs.js'

const [databaseUrl, baseUrl, key] = process.argv.slice(2)
process.stdin.resume().on('end', () => process.exit(1))
const { jobs, classification, queues, attach } = createJobs({ openRouter: { baseUrl: baseUrl, key, model: undefined } })
const engine = await createEngine({ databaseUrl, jobs, batches: [classification], migrate: false })
attach(engine)
await engine.work({ queues })
process.stdout.write('ready')
