/** Every worker is killed at once, as by a bad deploy. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../lib/checks.mjs'

export const title = 'kill -9 of all workers with 100 jobs in flight: none is charged or set apart, and it is soon over'
export const seconds = 200

const jobs = 300
const ms = 5000

export async function play(stage) {
  const undisturbed = await run(stage, async () => {})
  const disturbed = await run(stage, async pids => {
    await sleep(ms * 0.6)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
  })
  // The supervisor detects a death at once, so the bound holds for detection by crash report.
  const bound = undisturbed * 1.5 + 25
  stage.say(`undisturbed ${undisturbed.toFixed(1)} s, with every worker killed ${disturbed.toFixed(1)} s`)
  if (disturbed > bound) stage.broke(`longer than ${bound.toFixed(1)} s`)
  const rows = await stage.sql(`select id::text, state, failures, crashes, restarts, crash_suspicion from retoma.job`)
  stage.brokeEach(
    'jobs paid or are set apart',
    rows.filter(row => row.state !== 'succeeded' || row.failures + row.crashes > 0 || row.crash_suspicion !== null),
  )
  const again = rows.filter(row => row.restarts > 0).length
  stage.say(`${again} jobs begun again`)
  if (again < 90) stage.broke(`only ${again} were in flight`)
}

async function run(stage, disturb) {
  const { engine, troubles } = stage
  const supervisors = Array.from({ length: 5 }, () => stage.supervise({ args: ['worker', '--queues', 'work:20'] }))
  await until(async () => (await live(stage)).length === 5)
  const before = stage.ledger.read().start.length
  const began = Date.now()
  await engine.enqueueMany(
    troubles.chore,
    Array.from({ length: jobs }, () => ({ ms })),
  )
  await until(() => stage.ledger.read().start.length >= before + 100)
  await disturb((await live(stage)).map(each => each.pid))
  await until(async () => {
    const [{ n }] = await stage.sql(`select count(*)::int as n from retoma.job where state in ('waiting', 'running')`)
    return n === 0
  })
  const took = (Date.now() - began) / 1000
  for (const each of supervisors) each.signal('SIGTERM')
  await Promise.all(supervisors.map(each => each.ended))
  return took
}

const live = stage => stage.sql(`select pid from retoma.worker where dead_at is null`)
