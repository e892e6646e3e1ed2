/** An application with a worker of the built program, for signals.test.ts. `listens`: the application has a listener of its own. */
import { createEngine, defineJob } from '../../dist/index.js'

const [url = '', own = ''] = process.argv.slice(2)
const long = defineJob({
  kind: 'long',
  run: ctx => new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
})
const deaf = defineJob({ kind: 'deaf', run: () => new Promise(() => {}) })
const engine = await createEngine({ databaseUrl: url, jobs: [long, deaf] })
const worker = await engine.work({ signals: true })
if (own === 'listens')
  process.once('SIGTERM', async () => {
    await worker.stop()
    // The engine must still answer.
    await engine.jobs.list()
    process.exit(7)
  })
