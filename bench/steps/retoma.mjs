/** Retoma as it comes: every step committed before it resolves, fenced. */
import { createEngine, defineJob } from '../../dist/index.js'
import { alone, atOnce, five } from './plan.mjs'

export async function measure(url, jobs) {
  const work = defineJob({
    kind: 'work',
    queue: 'bench',
    run: async ctx => {
      for (const name of five) await ctx.step(name, async () => name)
    },
  })
  let latency
  const long = defineJob({
    kind: 'long',
    queue: 'bench',
    run: async ctx => {
      latency = await alone(n => ctx.step(`s${n}`, async () => n))
    },
  })
  const engine = await createEngine({ databaseUrl: url, jobs: [work, long] })
  await engine.work({ queues: { bench: atOnce } })
  await engine.wait({ job: (await engine.enqueue(long, undefined)).id })
  const inputs = Array.from({ length: jobs }, () => undefined)
  const began = performance.now()
  const { ids } = await engine.enqueueMany(work, inputs)
  // They are begun in the order of their ids: what is open at the end is among the last.
  await Promise.all(ids.slice(-2 * atOnce).map(id => engine.wait({ job: id })))
  const rate = (jobs * five.length * 1000) / (performance.now() - began)
  await engine.close()
  return { rate, latency }
}
