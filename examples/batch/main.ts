/**
 * Two hundred documents as one batch. Each has two steps; three of them fail, are read by cause, and run again once the cause
 * is gone: what they had saved is kept, and the others do not run a second time.
 *
 * DATABASE_URL=postgres://… npm start
 */
import { type BatchEnd, createEngine, defineBatch, defineJob, doNotRetry } from 'retoma'

const withoutKey = new Set(['D-013', 'D-050', 'D-199'])
let extracted = 0

const classify = defineJob({
  kind: 'classify',
  queue: 'classifier',
  run: async (ctx, { code }: { code: string }) => {
    const text = await ctx.step('extract', () => {
      extracted++
      return `the text of ${code}`
    })
    return ctx.step('ask', () => {
      if (withoutKey.has(code)) throw doNotRetry('the provider refuses the key')
      return { category: text.length % 2 === 0 ? 'even' : 'odd' }
    })
  },
})

const report = defineJob({
  kind: 'report',
  run: (_, { end, total, succeeded, failed }: BatchEnd) =>
    `end ${end}: ${succeeded} of ${total} succeeded, ${failed} failed`,
})

const classification = defineBatch({
  name: 'classification',
  job: classify,
  stopAfter: { percent: 50 },
  onComplete: report,
})

/** A list of any length may come from a generator, so the list is never in memory as a whole. */
function* documents() {
  for (let n = 0; n < 200; n++) yield { code: `D-${String(n).padStart(3, '0')}` }
}

const engine = await createEngine({ batches: [classification] })
await engine.work({ queues: { classifier: 20, default: 1 } })
const { id, total } = await engine.submit(classification, documents(), { ref: document => document.code })
console.log(`submitted: ${total} documents`)

/** Follows the batch to the end. With the position in a file, a restarted process could continue. */
let position: string | undefined
async function follow(): Promise<void> {
  const failed: string[] = []
  for await (const event of engine.events({ batch: id, after: position })) {
    position = event.position
    if (event.type === 'action') console.log(`action: ${event.data.what}`)
    if (event.type === 'item' && event.data.state === 'failed') failed.push(String(event.data.ref))
  }
  if (failed.length > 0) console.log(`told as they failed: ${failed.sort().join(', ')}`)
  const batch = await engine.batch(id)
  console.log((await engine.wait({ job: batch!.completeJob! })).result)
}

await follow()
for (const { cause, count, message } of await engine.batches.failures(id)) {
  console.log(`${count} failed for one cause: ${message}`)
  withoutKey.clear() // A person has fixed the cause.
  const { retried } = await engine.batches.retryFailed(id, { cause })
  console.log(`${retried} run again`)
}
await follow()
const batch = await engine.batch(id)
console.log(`${batch!.state}, ${batch!.percent} % done; ${extracted} texts were extracted`)
await engine.close()
