/** One contender, one measure, in a process of its own: `node child.mjs '{"contender":…,"measure":…}'` prints a JSON line. */
import { setTimeout as sleep } from 'node:timers/promises'
import { part, round } from './lib/figures.mjs'

const task = JSON.parse(process.argv[2])
process.stdin.resume().on('end', () => process.exit(1)) // nobody is left to tell
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
  return { p50: round(part(waits, 0.5), 2), p99: round(part(waits, 0.99), 2) }
}
