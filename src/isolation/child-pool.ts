/**
 * Manages the children of a worker: starts a child on demand, keeps an idle child for 60 s, and never has more working children than
 * isolated runs. A dead or killed child is never reused.
 *
 * Invariant: a child executes a single run at a time. An idle child does not keep this process alive, and no child outlives this process:
 * each child watches its parent (src/isolation/child/memory-watch.ts).
 */

import { RetomaError } from '../errors/errors.ts'
import type { Log } from '../lib/logging/log.ts'
import { unrefSleep } from '../lib/unref-timer.ts'
import { asText } from '../lib/values/json.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import type { Child, ChildExit } from './child.ts'
import { crashOf, placeName } from './child-crash.ts'
import type { CallTask, ChildTask, Nature } from './child-protocol.ts'
import { type ChildHost, ChildRun } from './child-run.ts'
import { startProcess } from './process-child.ts'
import { startThread } from './thread-child.ts'

interface Idle {
  child: Child
  taken: AbortController
}

const warmMs = 60_000
/** Long enough for a loaded machine; a hanging child is given up after this time. */
const startWithinMs = 30_000

export class ChildPool {
  readonly #log: Log
  /** Idle children by loaded module and settings. */
  readonly #idle = new Map<string, Idle[]>()
  readonly #starting = new Set<Child>()
  #runs = 0
  #leftBehind = 0
  #closed = false

  constructor(log: Log) {
    this.#log = log
  }

  /** The number of threads that could not be ended: stuck in native code until this process ends. */
  get leftBehind(): number {
    return this.#leftBehind
  }

  run(childTask: ChildTask | CallTask, nature: Nature, host: ChildHost): ChildRun {
    const key = JSON.stringify([nature, childTask.work])
    return new ChildRun(++this.#runs, childTask, nature, host, {
      take: () => this.#take(key, nature),
      release: child => this.#release(key, child),
      kill: child => this.#kill(child),
    })
  }

  /** Kills idle and starting children; working children are ended by their runs. */
  async close(): Promise<void> {
    this.#closed = true
    const idle = [...this.#idle.values()].flat().map(({ child }) => child)
    await Promise.all([...idle, ...this.#starting].map(child => this.#kill(child)))
  }

  async #take(key: string, nature: Nature): Promise<Child> {
    const warm = this.#idle.get(key)
    for (let each = warm?.pop(); each !== undefined; each = warm?.pop()) {
      // A run in a child that has just died would count as a crash of the job.
      if (!each.child.isThere) continue
      each.taken.abort()
      each.child.works(true)
      return each.child
    }
    return this.#start(nature)
  }

  async #start(nature: Nature): Promise<Child> {
    const place = placeName(nature)
    let child: Child
    try {
      if (this.#closed) throw new Error('its worker has stopped')
      child = nature.isolation === 'process' ? startProcess(nature) : startThread(nature)
    } catch (error) {
      throw new RetomaError('child_not_started', { place, problem: asText(error) }, { cause: error })
    }
    this.#starting.add(child)
    try {
      await withDeadline(
        child.ready,
        startWithinMs,
        () => new Error(`it was not ready within ${startWithinMs / 1000} s`),
      )
      return child
    } catch (died) {
      if (died instanceof Error) {
        void this.#kill(child)
        throw new RetomaError('child_not_started', { place, problem: died.message })
      }
      const remains = died as ChildExit
      const last = remains.stderr.trim().split('\n').slice(-3).join(' ')
      const problem =
        remains.error === undefined ? crashOf(remains, nature, false).thrown.message : asText(remains.error)
      throw new RetomaError('child_not_started', { place, problem: last === '' ? problem : `${problem}; ${last}` })
    } finally {
      this.#starting.delete(child)
    }
  }

  #release(key: string, child: Child): void {
    if (this.#closed) return void this.#kill(child)
    child.works(false)
    child.onMessage(() => {})
    const mine: Idle = { child, taken: new AbortController() }
    const warm = this.#idle.get(key) ?? []
    warm.push(mine)
    this.#idle.set(key, warm)
    const forget = () => {
      const left = (this.#idle.get(key) ?? []).filter(each => each !== mine)
      if (left.length > 0) this.#idle.set(key, left)
      else this.#idle.delete(key)
    }
    void child.died.then(remains => {
      if (mine.taken.signal.aborted) return
      mine.taken.abort()
      forget()
      if (!this.#closed)
        this.#log.warn(
          { signal: remains.signal, code: remains.exitCode },
          'an idle child process ended; no job is charged',
        )
    })
    void unrefSleep(warmMs, mine.taken.signal).then(() => {
      if (mine.taken.signal.aborted) return
      mine.taken.abort()
      forget()
      void this.#kill(child)
    })
  }

  async #kill(child: Child): Promise<void> {
    if (await child.kill()) return
    this.#leftBehind++
    this.#log.error({ left_behind: this.#leftBehind }, 'a child process does not end; the worker abandons it')
  }
}
