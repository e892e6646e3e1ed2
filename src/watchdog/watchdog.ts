/**
 * One tick of the watchdog: judge the workers, put right what the dead ones left. Runs in every worker and server; there
 * is no leader, because each statement is bounded, idempotent and skips what another watchdog has locked.
 *
 * Detection takes orphanAfter (20 s) plus at most one tick. After an outage it takes two beats from the first tick; with a
 * database that comes and goes every few seconds, six ticks that came through.
 */
import { beatEvery, defaultPolicy, watchEvery } from '../core/policy.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import { lookAfterWorkers, type Recovered, recoverOrphans } from '../store/recover.ts'

const bite = 500
/** A little less than a tick, so that a lone watchdog wins each of its own. */
const rule = { orphanAfterMs: defaultPolicy.orphanAfter, beatMs: beatEvery, apartMs: watchEvery * 0.9 }

export interface Tick {
  recovered: Recovered[]
}

export async function watchdogTick(db: Db, log: Log, now: Date | null): Promise<Tick> {
  const { judged, orphans } = await lookAfterWorkers(db, rule, now)
  for (const { id, host, pid, dead } of judged) {
    if (dead) log.warn({ worker: id, host, pid }, 'worker declared dead; its jobs go back')
  }
  const recovered: Recovered[] = []
  while (orphans) {
    const some = await recoverOrphans(db, bite, now)
    recovered.push(...some)
    // Fewer than a bite may mean that another watchdog had locked some of it: only nothing at all is the end.
    if (some.length === 0) break
  }
  if (recovered.length > 0)
    log.info({ jobs: recovered.length, sample: recovered.slice(0, 5).map(each => each.id) }, 'orphans recovered')
  return { recovered }
}
