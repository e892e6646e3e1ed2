/** One contender, one measure, in a process of its own: `node child.mjs '{"contender":…,"measure":…}'` prints a JSON line. */
import { setTimeout as sleep } from 'node:timers/promises'

const task = JSON.parse(process.argv[2])
const { open } = await import(`./contenders/${task.contender}.mjs`)
const queue = await open(task.url, task)
const measures = { burnDown, pickup }
const result = await measures[task.measure](task)
await queue.close()
console.log(JSON.stringify({ ...result, rss: Math.round(process.memoryUsage.rss() / 1e6) }))
process.exit(0)

/** Jobs per second into an empty queue, then out of it, one in a hundred failing; over when every outcome is written. */
async function burnDown({ jobs, concurrency }) {
  const inputs = Array.from({ length: jobs }, (_, i) => ({ i, fails: i % 100 === 99 }))
  let at = performance.now()
  await queue.addMany(inputs)
  const enqueue = jobs / ((performance.now() - at) / 1000)
  let ran = 0
  let all
  const done = new Promise(resolve => {
    all = resolve
  })
  at = performance.now()
  await queue.work(() => ++ran === jobs && all(), concurrency)
  await done
  while ((await queue.unfinished()) > 0) await sleep(5)
  return { enqueue: Math.round(enqueue), burnDown: Math.round(jobs / ((performance.now() - at) / 1000)) }
}

/** Milliseconds from the call to enqueue until the handler starts, on an idle queue. */
async function pickup({ jobs }) {
  let started
  await queue.work(() => started(performance.now()), 10)
  await sleep(500)
  const waits = []
  for (let i = 0; i < jobs; i++) {
    const start = new Promise(resolve => {
      started = resolve
    })
    const at = performance.now()
    const added = queue.add({ i })
    waits.push((await start) - at)
    await added
    await sleep(3 + (i % 7))
  }
  waits.sort((a, b) => a - b)
  const part = p => Math.round(waits[Math.min(waits.length - 1, Math.floor(waits.length * p))] * 100) / 100
  return { p50: part(0.5), p99: part(0.99) }
}
