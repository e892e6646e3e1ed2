/** Answers are lost after their commit. */
import { checkEnds, leaseLostIn, unfinished, until } from '../lib/checks.mjs'
import { nameOf } from '../lib/ledger.mjs'
import { startProxy } from '../lib/proxy.mjs'

export const title = 'the answer to 5 % of what workers ask is lost after its commit, and the connection cut'
export const seconds = 80

export async function play(stage) {
  const { random, jobs, room } = stage
  const proxy = await startProxy({ room, url: stage.server.url, share: 0.05, random })
  try {
    const workers = await Promise.all(Array.from({ length: 2 }, () => stage.hire({ url: proxy.url })))
    proxy.begin()
    const began = performance.now()
    const expected = await stage.send(Array.from({ length: jobs }, () => inputOf(random)))
    await until(async () => (await unfinished(stage)) === 0)
    const took = (performance.now() - began) / 1000
    const { failures, ledger, starts, rows } = await checkEnds(stage, { expected })
    const { messages, cuts, flushes, flushCuts, claimCuts } = proxy.counts
    stage.say(
      `${jobs} jobs in ${took.toFixed(1)} s, ${starts} starts; ${cuts} of ${messages} answers lost: ${flushCuts} of ${flushes} flushes, ${claimCuts} claims`,
    )

    const landed = new Set([
      ...rows.map(row => `${nameOf(row)} ${row.last_worker}`),
      ...failures.filter(each => each.failure_type !== 'orphan').map(each => `${nameOf(each)} ${each.worker}`),
    ])
    // A snooze leaves no failure row. The snooze was accepted if no orphan row exists for the attempt.
    const orphans = new Set(failures.filter(each => each.failure_type === 'orphan').map(nameOf))
    for (const each of ledger.snooze) if (!orphans.has(nameOf(each))) landed.add(`${nameOf(each)} ${each.worker}`)
    const said = workers.flatMap(worker => leaseLostIn(worker.logLines()))
    stage.brokeEach(
      'attempts were called lost that landed',
      said.filter(each => landed.has(`${nameOf(each)} ${each.worker}`)),
    )
    stage.brokeEach('attempts were taken away though no worker died', [...orphans])
    const twice = ledger.end.length - expected
    if (twice !== 0) stage.broke(`${twice} handlers ended in vain: their outcome was not accepted`)
    if (flushCuts < flushes / 50) stage.broke(`only ${flushCuts} of ${flushes} flushes were cut`)
  } finally {
    stage.kill()
    await proxy.close()
  }
}

function inputOf(random) {
  const dice = random.next()
  if (dice < 0.02) return { fails: true }
  if (dice < 0.04) return { snoozes: 2 }
  return { ms: dice < 0.3 ? Math.round(random.between(1, 20)) : 0 }
}
