/** Three jobs kill their process, among a thousand harmless jobs. */
import { until } from '../lib/checks.mjs'

export const title =
  'three poisonous jobs (abort, exit, memory) among 1,000 on 4 workers: three deaths each at most, nobody else pays'
export const seconds = 240

export async function play(stage) {
  const { engine, troubles, random } = stage
  const postmaster = await startedAt(stage)
  const supervisors = Array.from({ length: 4 }, () => stage.supervise({ env: { RETOMA_WORKER_MEMORY: '400' } }))
  await until(async () => (await stage.sql(`select from retoma.worker where dead_at is null`)).length === 4)
  const inputs = Array.from({ length: 1000 }, () => ({ ms: Math.round(random.between(20, 400)) }))
  await engine.enqueueMany(troubles.chore, inputs.slice(0, 100))
  const poison = [
    await engine.enqueue(troubles.aborts, null),
    await engine.enqueue(troubles.exits, null),
    await engine.enqueue(troubles.devours, null),
  ]
  await engine.enqueueMany(troubles.chore, inputs.slice(100))
  const began = Date.now()
  await until(async () => {
    const [{ n }] = await stage.sql(`select count(*)::int as n from retoma.job where state in ('waiting', 'running')`)
    return n === 0
  })
  const took = ((Date.now() - began) / 1000).toFixed(1)
  const rows = await stage.sql(
    `select id::text, kind, state, attempt, failures, crashes, restarts, error ->> 'code' as code, error ->> 'message' as message from retoma.job`,
  )
  const starts = stage.ledger.read().start
  // The log of the supervisor has `how` in the line of every ended process; a requested stop is no crash.
  const deaths = supervisors.flatMap(each => each.lines().filter(({ how }) => how !== undefined && how !== 'asked'))
  for (const { id } of poison) {
    const row = rows.find(each => each.id === id)
    const begun = starts.filter(each => each.id === id).length
    stage.say(
      `${row.kind}: ${row.state} (${row.code}) after ${begun} starts, ${row.crashes} crashes; ${row.message?.slice(0, 140)}`,
    )
    if (row.state !== 'failed' || row.code !== 'poison') stage.broke(`${row.kind} did not end as poison`)
    if (row.crashes > 3) stage.broke(`${row.kind} killed ${row.crashes} processes`)
  }
  const others = rows.filter(row => row.kind === 'chore')
  stage.brokeEach(
    'others did not succeed, or paid',
    others.filter(row => row.state !== 'succeeded' || row.failures + row.crashes > 0),
  )
  stage.say(
    `${others.length} others in ${took} s; ${deaths.length} deaths in the supervisors' logs; ${others.filter(row => row.restarts > 0).length} others begun again`,
  )
  if (deaths.length > 9) stage.broke(`${deaths.length} process deaths`)
  if (deaths.length === 0) stage.broke('no crash was reported')
  if ((await startedAt(stage)) !== postmaster) stage.broke('PostgreSQL was started again')
}

const startedAt = async stage => String((await stage.sql(`select pg_postmaster_start_time() as at`))[0].at)
