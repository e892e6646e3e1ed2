/** Stops two of four workers for longer than the lease and continues both workers. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEnds, leaseLostIn, unfinished, until } from '../lib/checks.mjs'
import { nameOf } from '../lib/ledger.mjs'

export const title = 'two workers of four are SIGSTOPped at random instants past their lease, then SIGCONTinued'
export const seconds = 130

/** Three times the lease. */
const stopSeconds = 60
const backlog = 3000

export async function play(stage) {
  const { random, engine, kinds } = stage
  const workers = await Promise.all(Array.from({ length: 4 }, () => stage.hire()))
  const [first, second, ...others] = workers
  const feeding = new AbortController()
  const fed = feed(stage, feeding.signal)
  await sleep(2000)
  const { ids } = await engine.enqueueMany(
    kinds.hold,
    Array.from({ length: 8 }, () => null),
  )
  const holding = new Set(ids)
  await until(() => everyoneHolds(stage, workers))
  // Short stops at random instants, some in the middle of a flush.
  for (let stop = 0; stop < 10; stop++) await stopFor(first, random.between(20, 200), random)
  const before = await rate(stage, others, 4000)
  first.signal('SIGSTOP')
  await sleep(random.between(1000, 2000))
  second.signal('SIGSTOP')
  const during = await rate(stage, others, stopSeconds * 1000)
  first.signal('SIGCONT')
  second.signal('SIGCONT')
  await sleep(6000)
  feeding.abort()
  const jobs = await fed
  writeFileSync(join(stage.room, 'released'), '')
  await until(async () => (await unfinished(stage)) === 0)

  const { failures, ledger } = await checkEnds(stage, { expected: jobs + holding.size })
  const ratio = during / before
  const lost = failures.filter(each => each.failure_type === 'orphan')
  stage.say(
    `${jobs} jobs; the other two did ${before.toFixed(0)} jobs/s before and ${during.toFixed(0)} meanwhile (ratio ${ratio.toFixed(2)}); ${lost.length} attempts taken away`,
  )
  if (ratio < 0.5) stage.broke(`the others fell to ${ratio.toFixed(2)} of their rate`)
  for (const worker of [first, second]) checkReturned(stage, worker, { failures, ledger, holding })
}

/**
 * Checks: the returned worker logged the declared death once, logged `lease_lost` once for each started attempt, and
 * aborted the handlers.
 */
function checkReturned(stage, worker, { failures, ledger, holding }) {
  const taken = new Set(
    failures.filter(each => each.failure_type === 'orphan' && each.worker === worker.id).map(nameOf),
  )
  const begun = ledger.start.filter(each => each.worker === worker.id && taken.has(nameOf(each)))
  const lines = worker.logLines()
  const said = leaseLostIn(lines)
  const deaths = lines.filter(line => line.msg.includes('declared dead') && line.level === 'error').length
  const heard = ledger.abort.filter(each => each.worker === worker.id)
  const held = begun.filter(each => holding.has(each.id) && each.attempt === 1)
  stage.say(
    `${worker.id}: ${taken.size} taken away, ${begun.length} begun, ${said.length} lines lease_lost, ${heard.length} handlers heard`,
  )
  if (taken.size === 0) stage.broke('nothing was taken from a stopped worker: too little load to say anything')
  if (deaths !== 1) stage.broke(`${worker.id} said ${deaths} times that it was declared dead`)
  const times = new Map()
  for (const each of said) times.set(nameOf(each), (times.get(nameOf(each)) ?? 0) + 1)
  stage.brokeEach(
    `attempts of ${worker.id} were lost without one line`,
    begun.filter(each => times.get(nameOf(each)) !== 1),
  )
  stage.brokeEach(
    `lines of ${worker.id} are about attempts nobody took`,
    said.filter(each => !taken.has(nameOf(each))),
  )
  stage.brokeEach(
    'handlers heard another reason',
    heard.filter(each => each.code !== 'lease_lost'),
  )
  stage.brokeEach(
    'handlers that held on did not hear',
    held.filter(each => !heard.some(other => nameOf(other) === nameOf(each))),
  )
  if (heard.length === 0) stage.broke(`no handler of ${worker.id} heard its signal`)
}

/** Each worker runs two jobs that wait for their signal. */
async function everyoneHolds(stage, workers) {
  const rows = await stage.sql(
    `select worker_id from retoma.job where queue = 'hold' and state = 'running' group by 1 having count(*) = 2`,
  )
  return rows.length === workers.length
}

async function stopFor(worker, ms, random) {
  worker.signal('SIGSTOP')
  await sleep(ms)
  worker.signal('SIGCONT')
  await sleep(random.between(20, 200))
}

/** Returns the jobs per second finished by `workers`. */
async function rate(stage, workers, ms) {
  const done = async () =>
    (
      await stage.sql(
        `select count(*)::int as n from retoma.job where state = 'succeeded' and last_worker = any ($1)`,
        [workers.map(each => each.id)],
      )
    )[0].n
  const from = await done()
  const began = performance.now()
  await sleep(ms)
  return ((await done()) - from) / ((performance.now() - began) / 1000)
}

/** Keeps a backlog in the queue until `signal` aborts. Returns the number of enqueued jobs. */
async function feed(stage, signal) {
  const { engine, kinds, random } = stage
  let total = 0
  while (!signal.aborted) {
    const [{ n }] = await stage.sql(
      `select count(*)::int as n from retoma.job where state = 'waiting' and queue = 'default'`,
    )
    if (n < backlog) {
      const inputs = Array.from({ length: 1000 }, () => ({
        ms: random.next() < 0.5 ? Math.round(random.between(1, 30)) : 0,
      }))
      total += (await engine.enqueueMany(kinds.task, inputs)).created
    } else await sleep(50)
  }
  return total
}
