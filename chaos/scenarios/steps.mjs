/** Jobs with five steps, while workers are killed and answers are lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { unfinished, until } from '../lib/checks.mjs'
import { startProxy } from '../lib/proxy.mjs'

export const title = 'jobs of five steps: workers SIGKILLed every half second, the answer to 2 % of what they ask lost'
export const seconds = 110

const mostKills = 25

export async function play(stage) {
  const { engine, kinds, random, room } = stage
  const jobs = Math.min(stage.jobs, 3000)
  await stage.sql('create table public.payment (job text, attempt int)')
  const proxy = await startProxy({ room, url: stage.server.url, share: 0.02, random })
  try {
    // A process does not start if the first answers are lost. A process manager would try again.
    const hire = (tries = 5) =>
      stage.hire({ url: proxy.url, stderr: 'ignore' }).catch(error => {
        if (tries === 1) throw error
        return hire(tries - 1)
      })
    await Promise.all([hire(), hire(), hire()])
    proxy.begin()
    const began = performance.now()
    await engine.enqueueMany(
      kinds.steps,
      Array.from({ length: jobs }, () => null),
    )
    let kills = 0
    while (kills < mostKills && (await unfinished(stage)) > 0) {
      await sleep(random.between(200, 800))
      const victim = random.one([...stage.workers])
      victim.signal('SIGKILL')
      await victim.ended
      kills++
      await hire()
    }
    await until(async () => (await unfinished(stage)) === 0)
    const took = ((performance.now() - began) / 1000).toFixed(1)
    const { repeated, runs } = await checkSteps(stage, jobs)
    stage.say(
      `${jobs} jobs in ${took} s, ${kills} kills, ${proxy.counts.cuts} answers lost; ${runs} runs of steps, ` +
        `${repeated} of them again because the first was never saved`,
    )
    if (kills < 3) stage.broke(`only ${kills} kills: too few to say anything`)
  } finally {
    stage.kill()
    await proxy.close()
  }
}

/**
 * Checks: a saved step never ran again (the last run of a step is in the attempt of the checkpoint), and each job made
 * 1 payment.
 */
async function checkSteps(stage, jobs) {
  const rows = await stage.sql(`select id::text, state, failures from retoma.job`)
  stage.brokeEach(
    'jobs did not succeed',
    rows.filter(row => row.state !== 'succeeded'),
  )
  stage.brokeEach(
    'jobs paid for a death or a lost answer',
    rows.filter(row => row.failures > 0),
  )
  const saved = await stage.sql(`select job_id::text as id, name, attempt from retoma.checkpoint`)
  const runs = stage.ledger.read().step
  const last = new Map()
  for (const { id, code, attempt } of runs) {
    const name = `${id} ${code}`
    const known = last.get(name) ?? []
    last.set(name, [...known, attempt])
  }
  const outside = saved.filter(({ name }) => name !== 'five')
  if (outside.length !== jobs * 4) stage.broke(`${outside.length} checkpoints of ${jobs * 4} are there`)
  stage.brokeEach(
    'steps ran after they were saved, or never, or twice in one attempt',
    outside.filter(({ id, name, attempt }) => {
      const attempts = last.get(`${id} ${name}`) ?? []
      return Math.max(...attempts) !== attempt || new Set(attempts).size !== attempts.length
    }),
  )
  const payments = await stage.sql(`select job as id, count(*)::int as n from public.payment group by 1`)
  stage.brokeEach(
    'payments were made more than once',
    payments.filter(each => each.n > 1),
  )
  if (payments.length !== jobs) stage.broke(`${payments.length} payments of ${jobs} were made`)
  return { runs: runs.length, repeated: runs.length - jobs * 4 }
}
