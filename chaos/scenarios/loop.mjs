/** Handlers never return the thread, with a timeout of three seconds. */
import { until } from '../lib/checks.mjs'

export const title =
  'endless loops with a time-out of 3 s: inline the process is replaced within 6 s, isolated only the child dies'
export const seconds = 120

export async function play(stage) {
  const { engine, troubles } = stage
  const supervisor = stage.supervise()
  await until(async () => (await live(stage)).length === 1)
  const [first] = await live(stage)

  const isolated = [await engine.enqueue(troubles.loopThread, null), await engine.enqueue(troubles.loopProcess, null)]
  const beside = await engine.enqueueMany(
    troubles.chore,
    Array.from({ length: 50 }, (_, n) => ({ ms: n * 100 })),
  )
  await until(async () => (await states(stage, [...isolated.map(each => each.id), ...beside.ids])).every(over))
  const [still] = await live(stage)
  if (still?.id !== first.id) stage.broke('an isolated loop took its worker along')
  const ends = await states(
    stage,
    isolated.map(each => each.id),
  )
  stage.say(`isolated: ${ends.map(each => `${each.kind} ${each.state} (${each.what})`).join(', ')}`)
  stage.brokeEach(
    'isolated loops did not end by their time-out',
    ends.filter(each => each.state !== 'failed' || each.what !== 'timeout'),
  )

  const neighbours = await engine.enqueueMany(
    troubles.chore,
    Array.from({ length: 5 }, () => ({ ms: 15_000 })),
  )
  await until(async () => (await states(stage, neighbours.ids)).every(each => each.state === 'running'))
  const { id } = await engine.enqueue(troubles.loop, null)
  await until(() => stage.ledger.read().start.some(each => each.id === id), 20)
  const began = Date.now()
  await until(async () => Date.now() - began > 20_000 || (await live(stage)).some(each => each.id !== first.id), 50)
  const after = (Date.now() - began) / 1000
  stage.say(`the process was replaced ${after.toFixed(1)} s after the loop began`)
  if (after > 6.3) stage.broke(`replaced after ${after.toFixed(1)} s`)
  await until(async () => (await states(stage, [id, ...neighbours.ids])).every(over))
  const [loop] = await states(stage, [id])
  stage.say(
    `the loop: ${loop.state}, ${loop.crashes} crashes, ${loop.failures} failures (${loop.what}); ${loop.message}`,
  )
  if (loop.state !== 'failed' || loop.crashes + loop.failures !== 2)
    stage.broke('the loop did not pay for both of its attempts')
  stage.brokeEach(
    'neighbours paid, or did not succeed',
    (await states(stage, [...neighbours.ids, ...beside.ids])).filter(
      each => each.state !== 'succeeded' || each.failures + each.crashes > 0,
    ),
  )
  supervisor.signal('SIGTERM')
  const { code } = await supervisor.ended
  if (code !== 0) stage.broke(`the supervisor ended with ${code}`)
}

const over = ({ state }) => !['waiting', 'running'].includes(state)
const live = stage =>
  stage.sql(
    `select id, pid from retoma.worker where dead_at is null and heartbeat_at > now() - interval '8 seconds' order by started_at desc`,
  )
const states = (stage, ids) =>
  stage.sql(
    `select id::text, kind, state, failures, crashes, restarts, attempt, error ->> 'what' as what, error ->> 'message' as message
     from retoma.job where id = any ($1::bigint[]) order by id`,
    [ids],
  )
