/** A handler blocks the loop for a minute: the report names the job, and no worker is declared dead. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../lib/checks.mjs'

export const title = 'a handler spins for 60 s inline: HUNG within 6 s with its name, no orphan, no neighbour charged'
export const seconds = 120

export async function play(stage) {
  const { engine, troubles } = stage
  stage.supervise()
  const neighbours = await engine.enqueueMany(
    troubles.neighbour,
    Array.from({ length: 5 }, () => ({ ms: 20_000 })),
  )
  await until(async () => (await running(stage)) === 5)
  const { id } = await engine.enqueue(troubles.spin, { ms: 60_000 })
  await until(() => stage.ledger.read().start.some(each => each.id === id), 20)
  const began = Date.now()
  let reported
  await until(async () => {
    const [row] = await stage.sql(
      `select blocked_job::text as job, blocked_stack as stack from retoma.worker where blocked_since is not null`,
    )
    reported = row
    return row !== undefined || Date.now() - began > 15_000
  }, 50)
  const after = (Date.now() - began) / 1000
  stage.say(
    `reported after ${after.toFixed(1)} s: job ${reported?.job}, ${reported?.stack?.split('\n')[0]?.slice(0, 120)}`,
  )
  if (after > 6.3) stage.broke(`reported after ${after.toFixed(1)} s`)
  if (reported?.job !== id) stage.broke(`the job on the stack is ${reported?.job}, not ${id}`)
  if (!reported?.stack?.includes('spinOnTheSpot')) stage.broke('the stack does not name the function')
  await sleep(7000)
  const { out } = await stage.ask('explain', 'job', id)
  stage.say(`explain: ${out.split('\n')[0]}`)
  if (!out.includes('spinOnTheSpot')) stage.broke('explain does not name the function')
  await until(async () => (await left(stage)) === 0)
  const rows = await stage.sql(`select kind, state, attempt, failures, crashes, restarts from retoma.job`)
  stage.brokeEach(
    'jobs paid or ran twice',
    rows.filter(
      each => each.state !== 'succeeded' || each.attempt !== 1 || each.failures + each.crashes + each.restarts > 0,
    ),
  )
  const [{ dead }] = await stage.sql(`select count(*)::int as dead from retoma.worker where dead_at is not null`)
  if (dead > 0) stage.broke('a worker was declared dead')
  if (neighbours.created !== 5) stage.broke('the neighbours were not there')
}

const running = async stage =>
  (await stage.sql(`select count(*)::int as n from retoma.job where state = 'running'`))[0].n
const left = async stage =>
  (await stage.sql(`select count(*)::int as n from retoma.job where state in ('waiting', 'running')`))[0].n
