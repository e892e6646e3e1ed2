/**
 * The server is down for three minutes, dies again during the recovery, and then stops and starts for two minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../lib/checks.mjs'
import { answers, killServer } from '../lib/server.mjs'

export const title =
  'PostgreSQL away for 3 min under load, killed again in its recovery, then flapping for 2 min with a worker killed: no false orphan, nothing lost or charged'
export const seconds = 520

const awayMs = 180_000
const flapMs = 120_000

export async function play(stage) {
  const { engine, kinds, random, server } = stage
  const workers = await Promise.all(Array.from({ length: 3 }, () => stage.hire()))
  const jobs = 1500
  await engine.enqueueMany(
    kinds.task,
    Array.from({ length: jobs }, () => ({ ms: Math.round(random.between(500, 4000)) })),
  )
  await sleep(5000)

  killServer(server.folder)
  const flight = await inFlight(stage)
  stage.say(`away with about ${flight} jobs in flight`)
  await sleep(awayMs)
  await server.revive()
  await until(() => answers(stage), 20)
  const back = Date.now()
  // A cron job runs the watchdog in the first second.
  const checked = stage.ask('watchdog', '--once')
  const first = await firstEnd(stage, back)
  stage.say(`back: the first job ended after ${((first - back) / 1000).toFixed(1)} s`)
  if (first - back > 15_000) stage.broke('it did not go on by itself within 15 s')
  // Kills the server during the recovery and during the watchdog check.
  await sleep(4000)
  killServer(server.folder)
  await sleep(2000)
  await server.revive()
  await until(() => answers(stage), 20)
  const again = await stage.ask('watchdog', '--once')
  for (const { code, out, err } of [await checked, again])
    stage.say(`watchdog --once ended with ${code}: ${(out + err).split('\n')[0]}`)
  if (again.code !== 0) stage.broke(`watchdog --once ended with ${again.code}`)
  await sleep(15_000)
  stage.brokeEach('false orphans', await orphans(stage))

  const victim = workers[0]
  const until2 = Date.now() + flapMs
  let flaps = 0
  let killedAt
  while (Date.now() < until2) {
    await sleep(random.between(5000, 10_000))
    killServer(server.folder)
    flaps++
    if (killedAt === undefined && flaps === 2) {
      victim.signal('SIGKILL')
      await victim.ended
      killedAt = Date.now()
    }
    await sleep(random.between(500, 3000))
    await server.revive()
    await until(() => answers(stage), 20)
  }
  const ended = Date.now()
  await until(
    async () =>
      (await stage.sql(`select from retoma.job j where worker_id = $1`, [victim.id])).length === 0 ||
      Date.now() - ended > 60_000,
    200,
  )
  const [dead] = await stage.sql(`select dead_at from retoma.worker where id = $1`, [victim.id])
  const foundAfter = dead?.dead_at ? (new Date(dead.dead_at).getTime() - killedAt) / 1000 : undefined
  stage.say(`${flaps} flaps; the dead worker was found ${foundAfter?.toFixed(0)} s after its death`)
  if (foundAfter === undefined) stage.broke('the dead worker was not found')
  await Promise.all(Array.from({ length: 4 }, () => stage.hire()))
  await until(async () => {
    const [{ n }] = await stage.sql(`select count(*)::int as n from retoma.job where state in ('waiting', 'running')`)
    return n === 0
  }, 500)
  const rows = await stage.sql(`select id::text, state, failures, crashes from retoma.job`)
  stage.brokeEach(
    'jobs are lost, failed or paid',
    rows.filter(row => row.state !== 'succeeded' || row.failures + row.crashes > 0),
  )
  if (rows.length !== jobs) stage.broke(`${rows.length} jobs of ${jobs}`)
  stage.brokeEach(
    'false orphans',
    (await orphans(stage)).filter(each => each.worker !== victim.id),
  )
}

const orphans = stage =>
  stage.sql(`select job_id::text as id, attempt, worker from retoma.failure where failure_type = 'orphan'`)

async function inFlight(stage) {
  const { start, end } = stage.ledger.read()
  return start.length - end.length
}

async function firstEnd(stage, since) {
  let first
  await until(async () => {
    // Handlers may end while the server is down, so only a new start shows progress.
    first = stage.ledger.read().start.find(each => each.at > since)?.at
    return first !== undefined || Date.now() - since > 60_000
  }, 50)
  return first ?? Date.now()
}
