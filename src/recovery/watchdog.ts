/**
 * Runs a tick of the watchdog: checks the workers, recovers orphans and checks running attempts. Runs in every worker and server;
 * there is no leader, because each statement is bounded, idempotent and skips rows locked by another watchdog.
 *
 * Detection takes `orphanAfter` (20 s, or the value of the kind) plus at most a tick. After an outage detection takes two
 * heartbeats from the first tick; with a database that comes and goes every few seconds, six successful ticks. Other verdicts:
 * docs/verdicts.md.
 */

import type { Db } from '../database/db.ts'
import { defaultPolicy, heartbeatEvery, watchEvery } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { Findings } from './findings.ts'
import { type EndedLateAttempts, sweepAttempts } from './late-attempts.ts'
import { checkWorkers, type WorkerCheck } from './sql/dead-workers.ts'
import type { EndedAttempt } from './sql/late-attempts.ts'
import { type Recovered, recoverOrphans } from './sql/recover-jobs-of-dead-worker.ts'

const chunkSize = 500
/** `apartMs`: a little less than a tick, so that a lone watchdog wins each of its own checks. */
const rule = { orphanAfterMs: defaultPolicy.orphanAfter, heartbeatMs: heartbeatEvery, apartMs: watchEvery * 0.9 }
/** Without a check for this long the log reports a late watchdog. */
const lateMs = watchEvery * 3

export interface Tick {
  /** Workers declared dead. */
  dead: string[]
  recovered: Recovered[]
  timedOut: EndedAttempt[]
  stalled: EndedAttempt[]
  /** Unfinished batches exist. */
  batches: boolean
  /** Batches are paused for a provider, or jobs wait for a provider that no longer asks for the wait. */
  stopped: boolean
  /** Workers are suspected, without a verdict yet. */
  suspects: boolean
  /** The live jobs should be counted. */
  sample: boolean
}

/** Behind a long transaction the scan of all running attempts is slow; the scan then runs less often. */
const share = 20
const cheapMs = 50
const rarelyMs = 60_000

const nothing: EndedLateAttempts = { timedOut: [], stalled: [], slow: [] }

export class Watchdog {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  readonly #random: Random
  readonly #findings: Findings
  #allAt = Number.NEGATIVE_INFINITY
  #hasChecked = false

  constructor(db: Db, clock: Clock, log: Log, random: Random = systemRandom) {
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#random = random
    this.#findings = new Findings(db, clock, log)
  }

  async tick(): Promise<Tick> {
    const check = await this.#check()
    const { judged, orphans, batches } = check
    for (const { id, host, pid, dead } of judged) {
      if (dead) this.#log.warn({ worker: id, host, pid }, 'a worker is dead; its jobs are recovered')
    }
    const swept = check.late ? await this.#sweep() : nothing
    const recovered: Recovered[] = []
    while (orphans) {
      const some = await recoverOrphans(this.#db, chunkSize, this.#clock.instant())
      recovered.push(...some)
      // A short chunk may mean that another watchdog had locked some orphans: only an empty chunk is the end.
      if (some.length === 0) break
    }
    if (recovered.length > 0)
      this.#log.info(
        { jobs: recovered.length, sample: recovered.slice(0, 5).map(each => each.id) },
        'recovered orphans',
      )
    if (check.won) await this.#findings.tick({ ...check, slow: swept.slow })
    return {
      dead: judged.filter(each => each.dead).map(each => each.id),
      recovered,
      timedOut: swept.timedOut,
      stalled: swept.stalled,
      batches,
      stopped: check.stopped,
      suspects: check.won ? judged.some(each => !each.dead) : check.suspects,
      sample: check.sample,
    }
  }

  /** For callers that run only now and then: repeats the check while workers are suspected, until there is a verdict. */
  async once(): Promise<Tick> {
    const all = await this.tick()
    for (let left = mostChecks; all.suspects && left > 0; left--) {
      await this.#clock.sleep(heartbeatEvery)
      const { dead, recovered, timedOut, stalled, batches, stopped, suspects } = await this.tick()
      all.dead.push(...dead)
      all.recovered.push(...recovered)
      all.timedOut.push(...timedOut)
      all.stalled.push(...stalled)
      Object.assign(all, { batches, stopped, suspects })
    }
    return all
  }

  async #sweep(): Promise<EndedLateAttempts> {
    const swept = await sweepAttempts(this.#db, this.#random, () => this.#clock.instant())
    const messages = { timedOut: 'attempts out of time were ended', stalled: 'attempts without progress were ended' }
    for (const what of ['timedOut', 'stalled'] as const) {
      const ended = swept[what]
      if (ended.length > 0)
        this.#log.warn(
          { jobs: ended.length, sample: ended.slice(0, 5).map(({ id, state }) => ({ id, state })) },
          messages[what],
        )
    }
    return swept
  }

  async #check(): Promise<WorkerCheck> {
    const begun = this.#clock.elapsed()
    const all = begun >= this.#allAt
    const found = await checkWorkers(this.#db, rule, all ? 'all' : 'the lately dead', this.#clock.instant())
    const cost = this.#clock.elapsed() - begun
    if (all && cost >= cheapMs) this.#allAt = begun + Math.min(cost * share, rarelyMs)
    // The first check after a start is expected to be late.
    const level = this.#hasChecked ? 'warn' : 'info'
    this.#hasChecked = true
    if (found.unseenMs !== null && found.unseenMs > lateMs)
      this.#log[level](
        { seconds: Math.round(found.unseenMs / 1000) },
        'no watchdog had checked for a while; this watchdog does',
      )
    return found
  }
}

/** Two heartbeats from the suspicion to the verdict, and some more for checks that another watchdog won. */
const mostChecks = 5
