/** Retoma with default settings: every step is fenced, and committed before the step resolves. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, defineJob } from '../../dist/index.js'
import { alone, atOnce, five } from './plan.mjs'

export async function measure(url, jobs) {
  let ran = 0
  let all
  const done = new Promise(resolve => {
    all = resolve
  })
  const work = defineJob({
    kind: 'work',
    queue: 'bench',
    run: async ctx => {
      for (const name of five) await ctx.step(name, async () => name)
      if (++ran === jobs) all()
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
  await engine.enqueueMany(work, inputs)
  await done
  while ((await engine.queues.list()).some(({ ready, running }) => ready + running > 0)) await sleep(5)
  const rate = (jobs * five.length * 1000) / (performance.now() - began)
  await engine.close()
  return { rate, latency }
}
