/** Runs a contender of the proof `fair` in a separate process: `node fair-child.mjs '{"contender":…}'` prints a JSON line. */
import { setTimeout as sleep } from 'node:timers/promises'

const task = JSON.parse(process.argv[2])
process.stdin.resume().on('end', () => process.exit(1)) // the parent process is gone
const slots = 20
const jobMs = 5
const chunk = 10_000
const batchSize = 500

const openers = { retoma: openRetoma, graphile: openGraphile, 'pg-boss': openPgBoss }
const starts = { big: 0, small: 0 }
let lastSmall = 0
const queue = await openers[task.contender](async tenant => {
  starts[tenant]++
  if (tenant === 'small') lastSmall = performance.now()
  await sleep(jobMs)
})
for (let left = task.waiting; left > 0; left -= chunk) await queue.add('big', Math.min(left, chunk))
await queue.work()
while (starts.big < 200) await sleep(5)
await sleep(1000)
const [began, before] = [performance.now(), starts.big]
await queue.add('small', 10)
while (starts.small < 10 && performance.now() - began < task.giveUpMs) await sleep(5)
const tookMs = starts.small === 10 ? lastSmall - began : performance.now() - began
console.log(
  JSON.stringify({
    started: starts.small,
    startedMs: tookMs,
    before: starts.big - before,
    perSecond: ((starts.big - before) / tookMs) * 1000,
  }),
)
process.exit(0)

async function openRetoma(run) {
  const { createEngine, defineJob } = await import('../dist/index.js')
  const job = defineJob({ kind: 'noop', queue: 'bench', run: (_, tenant) => run(tenant) })
  const limits = { bench: task.fair ? { fair: 'group' } : {} }
  const engine = await createEngine({ databaseUrl: task.url, jobs: [job], limits })
  return {
    add: (tenant, count) => engine.enqueueMany(job, new Array(count).fill(tenant), { groupKey: tenant }),
    work: () => engine.work({ queues: { bench: slots } }),
  }
}

async function openGraphile(handle) {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker')
  const logger = new Logger(() => () => {})
  const utils = await makeWorkerUtils({ connectionString: task.url, logger })
  await utils.migrate()
  const taskList = { noop: ({ tenant }) => handle(tenant) }
  const preset = { worker: { concurrentJobs: slots, maxPoolSize: 10 } }
  return {
    add: (tenant, count) => utils.addJobs(new Array(count).fill({ identifier: 'noop', payload: { tenant } })),
    work: () => run({ connectionString: task.url, taskList, logger, noHandleSignals: true, preset }),
  }
}

async function openPgBoss(run) {
  const { PgBoss } = await import('pg-boss')
  const boss = new PgBoss({ connectionString: task.url, max: 10, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue('noop', { retryLimit: 0 })
  return {
    add: (tenant, count) => boss.insert('noop', new Array(count).fill({ data: { tenant }, group: { id: tenant } })),
    // In batches, the fast mode of pg-boss; with groupConcurrency a group has at most half of a batch.
    work: () =>
      boss.work(
        'noop',
        { batchSize, pollingIntervalSeconds: 0.5, ...(task.grouped ? { groupConcurrency: batchSize / 2 } : {}) },
        jobs => Promise.all(jobs.map(job => run(job.data.tenant))),
      ),
  }
}
