/** Measures a contender in a separate process: `node child.mjs '{"contender":…,"measure":…}'` prints a JSON line. */
import { setTimeout as sleep } from 'node:timers/promises'
import { part, round } from './lib/figures.mjs'

const task = JSON.parse(process.argv[2])
process.stdin.resume().on('end', () => process.exit(1)) // the parent process is gone
const { open } = await import(`./contenders/${task.contender}.mjs`)
const queue = await open(task.url, task)
const measures = { burnDown, paced, pickup }
const pacedMs = 5000
const result = await measures[task.measure](task)
await queue.close()
console.log(JSON.stringify({ ...result, rss: Math.round(process.memoryUsage.rss() / 1e6) }))
process.exit(0)

/**
 * Jobs per second, until every outcome is written; `failing`: one in a hundred fails. `start` is `cold`: all jobs are there when
 * the worker starts, and the start of the worker counts. `idle`: the worker waits, and the time begins with the call that
 * enqueues. `warm`: as `idle`, and the process has worked off a burst of the same size before.
 */
async function burnDown({ jobs, concurrency, failing, start }) {
  const inputs = Array.from({ length: jobs }, (_, i) => ({ i, fails: failing && i % 100 === 99 }))
  let left = 0
  let all
  const work = () => queue.work(() => --left === 0 && all(), concurrency)
  const burst = async () => {
    left = jobs
    const done = new Promise(resolve => {
      all = resolve
    })
    const began = performance.now()
    await queue.addMany(inputs)
    const enqueued = performance.now()
    if (start === 'cold') await work()
    await done
    while ((await queue.unfinished()) > 0) await sleep(5)
    const ended = performance.now()
    const rate = ms => Math.round(jobs / (ms / 1000))
    return start === 'cold'
      ? { enqueue: rate(enqueued - began), burnDown: rate(ended - enqueued) }
      : { burnDown: rate(ended - began) }
  }
  if (start !== 'cold') {
    await work()
    await sleep(1500)
  }
  if (start === 'warm') {
    await burst()
    await sleep(1500)
  }
  return burst()
}

/** Milliseconds from the call to enqueue until the handler starts, at so many enqueues a second for five seconds. */
async function paced({ rate, concurrency = 50 }) {
  const calledAt = []
  const waits = []
  await queue.work(({ i }) => waits.push(performance.now() - calledAt[i]), concurrency)
  await sleep(1500)
  const began = performance.now()
  const sent = []
  while (performance.now() - began < pacedMs) {
    while (sent.length < ((performance.now() - began) / 1000) * rate) {
      calledAt.push(performance.now())
      sent.push(queue.add({ i: sent.length }))
    }
    await sleep(1)
  }
  await Promise.all(sent)
  const end = performance.now() + 30_000
  while (waits.length < sent.length && performance.now() < end) await sleep(5)
  return { p50: round(part(waits, 0.5), 2), p99: round(part(waits, 0.99), 2) }
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
