/**
 * Holds the kinds an engine knows: the kinds given at creation and the kinds enqueued since; and the queues that an enqueue has named.
 *
 * Invariant: a kind has a single definition in a process. A kind and a queue are in the database before their first job: whatever counts
 * or searches jobs reads the queues from the database.
 */

import type { Db } from '../database/db.ts'
import { hintFor } from '../errors/did-you-mean.ts'
import { localized, RetomaError } from '../errors/errors.ts'
import { refuseOption } from '../errors/invalid-option.ts'
import { type AnyJob, isEngineQueue } from '../jobs/model/job.ts'
import { hasQueue, type KindFlags, readKindFlags, registerKinds, registerQueue } from '../jobs/sql/job-kind.ts'
import type { Clock } from '../lib/clock.ts'

/** For a queue in place of the queue of the kind. Throws `bad_option`. */
export function refuseEngineQueue(queue: string): void {
  if (isEngineQueue(queue)) refuseOption('queue', 'it belongs to the engine', 'pertence ao motor')
}

export class KindRegistry {
  readonly #db: Db
  readonly #clock: Clock
  readonly #jobs = new Map<string, AnyJob>()
  #unregistered: AnyJob[] = []
  readonly #queues = new Set<string>()

  constructor(db: Db, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  get jobs(): ReadonlyMap<string, AnyJob> {
    return this.#jobs
  }

  /** The queues of the kinds, and the queues that an enqueue or a schedule of this process has named. */
  get queues(): ReadonlySet<string> {
    return new Set([...Array.from(this.#jobs.values(), job => job.queue), ...this.#queues])
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

  /** Registers a queue that is not the queue of a kind; one round trip for the first job of a process. */
  async addQueue(queue: string): Promise<void> {
    refuseEngineQueue(queue)
    if (this.#queues.has(queue)) return
    await registerQueue(this.#db, queue)
    this.#queues.add(queue)
  }

  /** For callers outside of the code: a name with a typo must not become a queue without workers. Throws `unknown_queue`. */
  async findQueue(queue: string): Promise<void> {
    if (this.#queues.has(queue)) return
    const { known, names } = await hasQueue(this.#db, queue)
    if (!known) throw new RetomaError('unknown_queue', { queue, hint: hintFor(queue, names) })
    this.#queues.add(queue)
  }

  /** The private and the internal kinds of every process on the database, this process included. */
  async flags(): Promise<KindFlags> {
    const own = [...this.#jobs.values()]
    const stored = await readKindFlags(this.#db)
    const kindsWith = (flag: keyof KindFlags) => [
      ...new Set([...stored[flag], ...own.filter(job => job[flag]).map(({ kind }) => kind)]),
    ]
    return { private: kindsWith('private'), internal: kindsWith('internal') }
  }

  find(kind: string): AnyJob {
    const job = this.#jobs.get(kind)
    if (job !== undefined) return job
    throw new RetomaError('unknown_kind', { kind, hint: hintFor(kind, [...this.#jobs.keys()]) })
  }
}
