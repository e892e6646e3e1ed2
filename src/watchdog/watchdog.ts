/**
 * One tick of the watchdog: judge the workers, put right what the dead ones left, and judge what runs. Runs in every worker
 * and server; there is no leader, because each statement is bounded, idempotent and skips what another watchdog has locked.
 *
 * Detection takes orphanAfter (20 s) plus at most one tick, or what a kind says in place of those. After an outage it takes two beats from the first tick; with a
 * database that comes and goes every few seconds, six ticks that came through. Other verdicts: docs/verdicts.md.
 */
import { beatEvery, defaultPolicy, watchEvery } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import type { Db } from '../store/db.ts'
import { type Recovered, recoverOrphans } from '../store/orphan.ts'
import { type Look, lookAfterWorkers } from '../store/recover.ts'
import type { Ended } from '../store/watch.ts'
import { Findings } from './findings.ts'
import { type Swept, sweepAttempts } from './sweep.ts'

const bite = 500
/** A little less than a tick, so that a lone watchdog wins each of its own. */
const rule = { orphanAfterMs: defaultPolicy.orphanAfter, beatMs: beatEvery, apartMs: watchEvery * 0.9 }
/** Nobody has looked for so long: somebody should know. */
const lateMs = watchEvery * 3

export interface Tick {
  /** Workers that were declared dead. */
  dead: string[]
  recovered: Recovered[]
  timedOut: Ended[]
  stalled: Ended[]
  /** There are batches to look after. */
  batches: boolean
  /** Some of them stand still for a provider. */
  stopped: boolean
  /** Workers are suspected, and it is not yet decided whether they are dead. */
  suspects: boolean
  /** What is live should be counted. */
  sample: boolean
}

/** Looking through all that runs takes its time behind somebody's long transaction; then it is done less often. */
const share = 20
const cheapMs = 50
const rarelyMs = 60_000

const nothing: Swept = { timedOut: [], stalled: [], slow: [] }

export class Watchdog {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  readonly #random: Random
  readonly #findings: Findings
  #allAt = Number.NEGATIVE_INFINITY
  #hasLooked = false

  constructor(db: Db, clock: Clock, log: Log, random: Random = systemRandom) {
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#random = random
    this.#findings = new Findings(db, clock, log)
  }

  async tick(): Promise<Tick> {
    const look = await this.#look()
    const { judged, orphans, batches } = look
    for (const { id, host, pid, dead } of judged) {
      if (dead) this.#log.warn({ worker: id, host, pid }, 'worker declared dead; its jobs go back')
    }
    const swept = look.late ? await this.#sweep() : nothing
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
    if (look.won) await this.#findings.tick({ ...look, slow: swept.slow })
    return {
      dead: judged.filter(each => each.dead).map(each => each.id),
      recovered,
      timedOut: swept.timedOut,
      stalled: swept.stalled,
      batches,
      stopped: look.stopped,
      suspects: look.won ? judged.some(each => !each.dead) : look.suspects,
      sample: look.sample,
    }
  }

  /** For who looks only now and then: while somebody is suspected it looks again, until that is decided. */
  async once(): Promise<Tick> {
    const all = await this.tick()
    for (let left = mostLooks; all.suspects && left > 0; left--) {
      await this.#clock.sleep(beatEvery)
      const { dead, recovered, timedOut, stalled, batches, stopped, suspects } = await this.tick()
      all.dead.push(...dead)
      all.recovered.push(...recovered)
      all.timedOut.push(...timedOut)
      all.stalled.push(...stalled)
      Object.assign(all, { batches, stopped, suspects })
    }
    return all
  }

  async #sweep(): Promise<Swept> {
    const swept = await sweepAttempts(this.#db, this.#random, () => this.#clock.instant())
    const told = { timedOut: 'attempts out of time were ended', stalled: 'attempts without progress were ended' }
    for (const what of ['timedOut', 'stalled'] as const) {
      const ended = swept[what]
      if (ended.length > 0)
        this.#log.warn(
          { jobs: ended.length, sample: ended.slice(0, 5).map(({ id, state }) => ({ id, state })) },
          told[what],
        )
    }
    return swept
  }

  async #look(): Promise<Look> {
    const begun = this.#clock.elapsed()
    const all = begun >= this.#allAt
    const found = await lookAfterWorkers(this.#db, rule, all ? 'all' : 'the lately dead', this.#clock.instant())
    const cost = this.#clock.elapsed() - begun
    if (all && cost >= cheapMs) this.#allAt = begun + Math.min(cost * share, rarelyMs)
    // Whoever starts a system that was switched off expects it.
    const level = this.#hasLooked ? 'warn' : 'info'
    this.#hasLooked = true
    if (found.unseenMs !== null && found.unseenMs > lateMs)
      this.#log[level](
        { seconds: Math.round(found.unseenMs / 1000) },
        'no watchdog had looked for a while; this one does',
      )
    return found
  }
}

/** Two beats from the suspicion to the verdict, and some for looks that another watchdog won. */
const mostLooks = 5
