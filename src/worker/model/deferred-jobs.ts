/**
 * Jobs that wait for a child process, in turns: of jobs with different limit keys each key has one turn, so that a small batch does not wait
 * for all jobs of a large batch. Of one key the longest waiting job is first. Pure.
 */

export interface DeferredJob {
  id: string
  attempt: number
  /** The batch or the group that takes turns; '': the queue has no turns. */
  limit_key: string
}

export class DeferredJobs {
  /** The attempt of each job by its key; the key with the next turn is first. */
  readonly #byKey = new Map<string, Map<string, number>>()
  readonly #most: number
  #size = 0

  /** `most`: the maximum of jobs; further jobs are not added. */
  constructor(most: number) {
    this.#most = most
  }

  /** A job that is deferred again goes to the end of its key. */
  add({ id, attempt, limit_key: key }: DeferredJob): void {
    this.#remove(key, id)
    if (this.#size >= this.#most) return
    const jobs = this.#byKey.get(key) ?? new Map<string, number>()
    this.#byKey.set(key, jobs.set(id, attempt))
    this.#size++
  }

  /** Removes and returns the first `many` jobs. */
  take(many: number): { id: string; attempt: number }[] {
    const taken: { id: string; attempt: number }[] = []
    while (taken.length < many && this.#size > 0) {
      const [key, jobs] = first(this.#byKey)
      const [id, attempt] = first(jobs)
      this.#remove(key, id)
      // The turn is over: the key goes to the end.
      if (this.#byKey.delete(key) && jobs.size > 0) this.#byKey.set(key, jobs)
      taken.push({ id, attempt })
    }
    return taken
  }

  #remove(key: string, id: string): void {
    const jobs = this.#byKey.get(key)
    if (jobs?.delete(id) !== true) return
    this.#size--
    if (jobs.size === 0) this.#byKey.delete(key)
  }
}

/** `map` has an entry. */
const first = <K, V>(map: ReadonlyMap<K, V>): [K, V] => map.entries().next().value!
