/**
 * Workers are killed twenty times while 100,000 jobs wait in the queue: the orphaned jobs run again before the
 * waiting jobs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../lib/checks.mjs'

export const title = 'a worker is SIGKILLed twenty times with 100,000 waiting: what it ran runs again within 30 s'
export const seconds = 240

const kills = 20
const bound = 30

export async function play(stage) {
  const { engine, kinds, random } = stage
  await engine.enqueueMany(
    kinds.task,
    Array.from({ length: 100_000 }, () => ({ ms: 2000 })),
  )
  await Promise.all(Array.from({ length: 4 }, () => stage.hire()))
  const lost = []
  for (let kill = 0; kill < kills; kill++) {
    await sleep(random.between(2500, 4000))
    const victim = random.one([...stage.workers])
    victim.signal('SIGKILL')
    await victim.ended
    const at = Date.now()
    const held = await stage.sql(`select id::text, attempt from retoma.job where worker_id = $1`, [victim.id])
    const { start } = stage.ledger.read()
    const ran = held.filter(job => start.some(each => each.id === job.id && each.attempt === job.attempt))
    lost.push(...ran.map(job => ({ ...job, at })))
    await stage.hire()
  }
  const began = Date.now()
  let open = lost
  await until(() => {
    const { start } = stage.ledger.read()
    const next = new Map(start.map(each => [`${each.id}/${each.attempt}`, each.at]))
    for (const job of lost) job.again ??= next.get(`${job.id}/${job.attempt + 1}`)
    open = lost.filter(job => job.again === undefined)
    return open.length === 0 || Date.now() - began > 40_000
  }, 500)
  const waits = lost
    .filter(job => job.again)
    .map(job => (job.again - job.at) / 1000)
    .sort((a, b) => a - b)
  const [{ charged }] = await stage.sql(`select coalesce(sum(failures + crashes), 0)::int as charged from retoma.job`)
  stage.say(
    `${lost.length} jobs ran when their worker was killed; each began again after ${waits.at(0)?.toFixed(1)} to ` +
      `${waits.at(-1)?.toFixed(1)} s, ${waits.at(Math.floor(waits.length / 2))?.toFixed(1)} s in the middle`,
  )
  if (lost.length < kills) stage.broke(`only ${lost.length} jobs ran when their worker was killed`)
  stage.brokeEach('jobs did not run again', open)
  if (waits.at(-1) > bound) stage.broke(`the last one after ${waits.at(-1).toFixed(1)} s`)
  if (charged > 0) stage.broke(`${charged} failures charged`)
}
