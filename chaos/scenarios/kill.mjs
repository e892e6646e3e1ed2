/** Kills a random worker of four about every second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkEnds, unfinished, until } from '../lib/checks.mjs'

export const title = 'a worker of four is SIGKILLed every second and replaced, while jobs are left'
export const seconds = 100

/** The kills stop at this number, so the rest can end: an orphan takes 20 s, and each kill makes more orphans. */
const mostKills = 30

export async function play(stage) {
  const { random, jobs } = stage
  const inputs = Array.from({ length: jobs }, () => inputOf(random))
  const began = performance.now()
  const expected = await stage.send(inputs)
  await Promise.all(Array.from({ length: 4 }, () => stage.hire()))
  let kills = 0
  while (kills < mostKills && (await takeable(stage)) > 0) {
    await sleep(random.between(500, 1500))
    const victim = random.one([...stage.workers])
    victim.signal('SIGKILL')
    await victim.ended
    kills++
    await stage.hire()
  }
  const killed = performance.now()
  await until(async () => (await unfinished(stage)) === 0)
  const tail = (performance.now() - killed) / 1000
  const { rows, failures, starts } = await checkEnds(stage, { expected })
  const orphans = failures.filter(each => each.failure_type === 'orphan').length
  stage.say(
    `${rows.length} jobs in ${((performance.now() - began) / 1000).toFixed(1)} s, ${kills} kills, ${starts} starts, ` +
      `${orphans} orphaned attempts, the last end ${tail.toFixed(1)} s after the last kill`,
  )
  if (jobs >= 10_000 && kills < 5) stage.broke(`only ${kills} kills: too few jobs to say anything`)
}

/** Counts the waiting jobs and the jobs of live workers. A job of a dead worker takes 20 s to become ready. */
async function takeable(stage) {
  const pids = [...stage.workers].map(each => each.pid)
  const [row] = await stage.sql(
    `select count(*)::int as n from retoma.job j left join retoma.worker w on w.id = j.worker_id
     where j.state = 'waiting' or (j.state = 'running' and w.pid = any ($1))`,
    [pids],
  )
  return row.n
}

/** 4% of the jobs take 50 to 500 ms: few enough for workers to claim ahead. 1 job in 30 fails once. */
function inputOf(random) {
  const ms = random.next() < 0.04 ? Math.round(random.between(50, 500)) : 0
  return random.next() < 1 / 30 ? { ms, fails: true } : { ms }
}
