/** A process that works on one job in a child that spins, from dist/, and says the child's pid: child-ends.test.ts kills or stops it. */
import { createEngine, defineJob, seconds } from '../../dist/index.js'

const handler = new URL('./spin.mjs', import.meta.url)
const job = defineJob({ kind: 'spin', handler, isolation: 'process', orphanAfter: seconds(15) })
const engine = await createEngine({ databaseUrl: process.argv[2], jobs: [job] })
await engine.work()
await engine.enqueue(job, undefined)
