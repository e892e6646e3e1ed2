/** A process for notices.test.ts that ends a batch, finds that a notice is due, and begins to send it: until it is killed. */
import { createEngine, defineBatch, defineJob } from '../../dist/index.js'

const [databaseUrl = '', url = ''] = process.argv.slice(2)
const batch = defineBatch({ name: 'b', job: defineJob({ kind: 'item', run: () => 1 }) })
const engine = await createEngine({ databaseUrl, batches: [batch], notify: { url }, migrate: false })
await engine.watch({ once: true })
await engine.work()
await engine.submit(batch, ['a'])
