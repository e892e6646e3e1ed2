/** A process with an engine that works, and closes it: process-exit.test.ts sees whether the process then ends by itself. */
import { createEngine, defineJob, hours } from '../../dist/index.js'

const job = defineJob({ kind: 'k', timeout: hours(1), run: () => 'done' })
const engine = await createEngine({ databaseUrl: process.argv[2], jobs: [job] })
await engine.work()
const { id } = await engine.enqueue(job, undefined)
await engine.wait({ job: id })
await engine.enqueue(job, undefined, { delay: hours(1) })
const before = process.getActiveResourcesInfo()
await engine.close()
process.stdout.write(JSON.stringify({ before, after: process.getActiveResourcesInfo() }))
