/** Handlers await forever and ignore the signal. */
import { until } from '../lib/checks.mjs'

export const title =
  'twenty handlers await for ever: stalled in time, their slots free again, resumed from their last step'
export const seconds = 120

const many = 20
/** stallAfter, a tick, and the machine's noise. */
const bound = 5 + 5 + 1

export async function play(stage) {
  const { engine, troubles } = stage
  stage.supervise()
  const { ids } = await engine.enqueueMany(
    troubles.forever,
    Array.from({ length: many }, () => null),
  )
  await until(() => stage.ledger.read().step.length === many, 50)
  const began = Math.max(...stage.ledger.read().step.map(each => each.at))
  await until(async () => (await count(stage, 'stalled')) === many || Date.now() - began > 30_000, 50)
  const after = (Date.now() - began) / 1000
  stage.say(`all stalled ${after.toFixed(1)} s after their last step`)
  if (after > bound) stage.broke(`stalled after ${after.toFixed(1)} s`)
  const answers = await Promise.all(
    ids.flatMap(id =>
      [engine.jobs.resume(id), engine.jobs.resume(id), engine.jobs.resume(id)].map(each => each.catch(error => error)),
    ),
  )
  const wrong = answers.filter(each => each instanceof Error)
  stage.brokeEach('actions failed', wrong.map(String))
  await until(async () => (await count(stage, 'succeeded')) === many || Date.now() - began > 90_000, 100)
  const again = ((Date.now() - began) / 1000 - after).toFixed(1)
  const { start, step } = stage.ledger.read()
  stage.say(`all succeeded ${again} s after they were resumed; ${start.length} starts, ${step.length} runs of the step`)
  if ((await count(stage, 'succeeded')) !== many) stage.broke('the slots of those that hang were not freed')
  if (step.length !== many) stage.broke('a step ran again')
  if (start.length !== 2 * many) stage.broke(`${start.length} starts of ${2 * many}`)
  const paid = await stage.sql(`select id from retoma.job where failures + crashes > 0`)
  stage.brokeEach('jobs paid', paid)
}

const count = async (stage, state) =>
  (await stage.sql(`select count(*)::int as n from retoma.job where kind = 'forever' and state = $1`, [state]))[0].n
