/** The server dies under load, and comes back. */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEnds, unfinished, until } from '../lib/checks.mjs'
import { answers, killServer } from '../lib/server.mjs'

export const title = 'every process of PostgreSQL is SIGKILLed under load, five times, and the server brought back'
export const seconds = 80

const deaths = 5

export async function play(stage) {
  const { random, server } = stage
  const workers = await Promise.all(Array.from({ length: 3 }, () => stage.hire()))
  const feeding = new AbortController()
  const acknowledged = new Set()
  const fed = [feed(stage, feeding.signal, acknowledged), feedSingly(stage, feeding.signal, acknowledged)]
  const away = []
  for (let death = 0; death < deaths; death++) {
    await sleep(random.between(1500, 3000))
    const killed = killServer(server.folder)
    const began = performance.now()
    await server.revive()
    await until(() => answers(stage), 20)
    away.push(`${((performance.now() - began) / 1000).toFixed(1)} s`)
    if (killed === 0) stage.broke('there was no server process to kill')
  }
  await sleep(2000)
  feeding.abort()
  await Promise.all(fed)
  const ended = performance.now()
  await until(async () => (await unfinished(stage)) === 0)
  const tail = (performance.now() - ended) / 1000
  const { rows, failures, starts } = await checkEnds(stage, {})
  const there = new Set(rows.map(row => row.id))
  stage.brokeEach(
    'acknowledged jobs are gone',
    [...acknowledged].filter(id => !there.has(id)),
  )
  const orphans = failures.filter(each => each.failure_type === 'orphan').length
  stage.say(
    `${acknowledged.size} jobs acknowledged, ${rows.length} there, ${starts} starts, ${orphans} orphaned; away for ${away.join(', ')}; ` +
      `all ended ${tail.toFixed(1)} s after the last came in`,
  )
  if ([...stage.workers].length !== workers.length) stage.broke('a worker process ended')
}

async function feed(stage, signal, acknowledged) {
  const { engine, kinds, random } = stage
  while (!signal.aborted) {
    const inputs = Array.from({ length: 200 }, () => ({
      ms: random.next() < 0.2 ? Math.round(random.between(1, 50)) : 0,
    }))
    await engine.enqueueMany(kinds.task, inputs).then(
      ({ ids }) => {
        for (const id of ids) acknowledged.add(id)
      },
      () => {},
    )
    await sleep(100)
  }
}

async function feedSingly(stage, signal, acknowledged) {
  const { engine, kinds } = stage
  while (!signal.aborted) {
    await engine.enqueue(kinds.task, { fails: acknowledged.size % 10 === 0 }).then(
      ({ id }) => acknowledged.add(id),
      () => sleep(20),
    )
    await sleep(2)
  }
}
