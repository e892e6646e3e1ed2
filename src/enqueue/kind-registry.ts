/**
 * Holds the kinds an engine knows: the kinds given at creation and the kinds enqueued since.
 *
 * Invariant: a kind has a single definition in a process, and is in the database before its first job.
 */

import type { Db } from '../database/db.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { registerKinds } from '../jobs/sql/job-kind.ts'
import type { Clock } from '../lib/clock.ts'

export class KindRegistry {
  readonly #db: Db
  readonly #clock: Clock
  readonly #jobs = new Map<string, AnyJob>()
  #unregistered: AnyJob[] = []

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  get jobs(): ReadonlyMap<string, AnyJob> {
    return this.#jobs
  }

  async add(...jobs: readonly AnyJob[]): Promise<void> {
    for (const job of jobs) {
      const known = this.#jobs.get(job.kind)
      if (known === job) continue
      if (known !== undefined) {
        throw new RetomaError('bad_definition', {
          what: localized(`the job "${job.kind}"`, `job "${job.kind}"`),
          problem: localized('another job has the same kind', 'outro job tem o mesmo kind'),
        })
      }
      this.#jobs.set(job.kind, job)
      this.#unregistered.push(job)
    }
    const written = this.#unregistered
    if (written.length === 0) return
    await registerKinds(this.#db, written, this.#clock.instant())
    this.#unregistered = this.#unregistered.filter(job => !written.includes(job))
  }

  find(kind: string): AnyJob {
    const job = this.#jobs.get(kind)
    if (job !== undefined) return job
    throw new RetomaError('unknown_kind', { kind, hint: hintFor(kind, [...this.#jobs.keys()]) })
  }
}
