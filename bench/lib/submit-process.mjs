/** `node submit-process.mjs '{"url":…}'`: submits a batch from an async generator and reports the duration. */
import { createEngine, defineBatch } from '../../dist/index.js'
import { itemsOf } from './items.mjs'
import { toEnqueue } from './jobs.mjs'

const { url, name, total } = JSON.parse(process.argv[2])
process.on('disconnect', () => process.exit(1))

const batch = defineBatch({ name, job: toEnqueue('item'), onComplete: toEnqueue('done') })
const engine = await createEngine({ databaseUrl: url, batches: [batch], migrate: false })
const began = performance.now()
const submitted = await engine.submit(batch, itemsOf(total), { ref: ({ n }) => `DOC-${n}` })
const seconds = (performance.now() - began) / 1000
await engine.close()
process.send({ report: { ...submitted, seconds } }, () => process.exit(0))
