/**
 * One tick of the watchdog: judge the workers, put right what the dead ones left. Runs in every worker and server; there
 * is no leader, because each statement is bounded, idempotent and skips what another watchdog has locked.
 *
 * Detection takes orphanAfter (20 s) plus at most one tick. After an outage it takes two beats from the first tick; with a
 * database that comes and goes every few seconds, six ticks that came through.
 */
import { beatEvery, defaultPolicy, watchEvery } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Db } from '../store/db.ts'
import { type Recovered, recoverOrphans } from '../store/orphan.ts'
import { type Look, lookAfterWorkers } from '../store/recover.ts'

const bite = 500
/** A little less than a tick, so that a lone watchdog wins each of its own. */
const rule = { orphanAfterMs: defaultPolicy.orphanAfter, beatMs: beatEvery, apartMs: watchEvery * 0.9 }

export interface Tick {
  recovered: Recovered[]
  /** There are batches to look after. */
  batches: boolean
}

/** Looking through all that runs takes its time behind somebody's long transaction; then it is done less often. */
const share = 20
const cheapMs = 50
const rarelyMs = 60_000

export class Watchdog {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  #allAt = Number.NEGATIVE_INFINITY

  constructor(db: Db, clock: Clock, log: Log) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  async tick(): Promise<Tick> {
    const { judged, orphans, batches } = await this.#look()
    for (const { id, host, pid, dead } of judged) {
      if (dead) this.#log.warn({ worker: id, host, pid }, 'worker declared dead; its jobs go back')
    }
    const recovered: Recovered[] = []
    while (orphans) {
      const some = await recoverOrphans(this.#db, bite, this.#clock.instant())
      recovered.push(...some)
      // Fewer than a bite may mean that another watchdog had locked some of it: only nothing at all is the end.
      if (some.length === 0) break
    }
    if (recovered.length > 0)
      this.#log.info(
        { jobs: recovered.length, sample: recovered.slice(0, 5).map(each => each.id) },
        'orphans recovered',
      )
    return { recovered, batches }
  }

  async #look(): Promise<Look> {
    const begun = this.#clock.elapsed()
    const all = begun >= this.#allAt
    const found = await lookAfterWorkers(this.#db, rule, all ? 'all' : 'the lately dead', this.#clock.instant())
    const cost = this.#clock.elapsed() - begun
    if (all && cost >= cheapMs) this.#allAt = begun + Math.min(cost * share, rarelyMs)
    return found
  }
}
