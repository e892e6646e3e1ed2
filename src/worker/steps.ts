/**
 * The named parts of one attempt. A step that was saved by an earlier attempt is not run again: what it returned comes back.
 *
 * Invariant: `step` resolves only once its checkpoint is committed, and only while the attempt holds the job; so whatever
 * follows it may count on it, after any crash. An attempt does not end before its steps have.
 */
import { backoffAfter } from '../core/backoff.ts'
import { doNotRetry, isFinal } from '../core/outcome.ts'
import { type CheckedStep, checkStepName, checkStepOptions, type StepOptions } from '../core/step.ts'
import { decodeValue, encodeValue } from '../core/value.ts'
import { RetomaError, type Saying, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import type { Landed } from './group-commit.ts'

/** What steps need of the attempt they are in. */
export interface StepHost {
  readonly job: string
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
  /** What earlier attempts have saved. */
  load(): Promise<ReadonlyMap<string, unknown>>
  /** Answers once it is certain; a lost lease has been told to the attempt by then. */
  save(name: string, value: string): Promise<Landed>
}

/** A larger result belongs somewhere else, with a reference to it here. */
const mostBytes = 1024 * 1024

export class Steps {
  readonly #host: StepHost
  readonly #begun = new Set<string>()
  readonly #open = new Map<string, Promise<unknown>>()
  #saved: Promise<ReadonlyMap<string, unknown>> | undefined
  #over = false

  constructor(host: StepHost) {
    this.#host = host
  }

  async step<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options?: StepOptions): Promise<T> {
    return this.keep(checkStepName(name), run, checkStepOptions(options))
  }

  /** The same, with what was asked already checked. */
  async keep<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options: CheckedStep): Promise<T> {
    if (this.#over) throw new RetomaError('attempt_over', { job: this.#host.job, step: name })
    if (this.#begun.has(name)) throw doNotRetry(new RetomaError('step_twice', { step: name }))
    this.#begun.add(name)
    const work = this.#work(name, run, options)
    this.#open.set(name, work)
    const done = () => void this.#open.delete(name)
    work.then(done, done)
    return work
  }

  /** The handler has ended: waits for steps it did not wait for, and answers their names. From here on none begins. */
  async close(): Promise<string[]> {
    const left = [...this.#open.keys()]
    this.#over = true
    await Promise.allSettled(this.#open.values())
    return left
  }

  /** What an earlier attempt saved under this name. */
  async saved(name: string): Promise<{ value: unknown } | undefined> {
    this.#saved ??= this.#host.load()
    const all = await this.#saved
    return all.has(name) ? { value: decodeValue(all.get(name)) } : undefined
  }

  async #work<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options: CheckedStep): Promise<T> {
    const before = await this.saved(name)
    if (before !== undefined) return before.value as T
    const value = await this.#tries(name, run, options)
    const encoded = encodeValue(value)
    if (!encoded.ok) throw unkept(name, encoded.problem)
    const bytes = Buffer.byteLength(encoded.text)
    if (bytes > mostBytes) throw doNotRetry(new RetomaError('step_too_large', { step: name, bytes, most: mostBytes }))
    const how = await this.#host.save(name, encoded.text)
    if (how === 'refused') throw unkept(name, say('PostgreSQL refuses it', 'o PostgreSQL recusa'))
    if (how !== 'landed')
      throw this.#host.signal.reason ?? new RetomaError('attempt_over', { job: this.#host.job, step: name })
    return value
  }

  async #tries<T>(
    name: string,
    run: (signal: AbortSignal) => T | Promise<T>,
    { attempts, backoff, timeoutMs }: CheckedStep,
  ): Promise<T> {
    const { clock, signal, random } = this.#host
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted()
      try {
        return await this.#once(name, run, timeoutMs)
      } catch (error) {
        if (failures >= attempts || signal.aborted || isFinal(error)) throw error
        await clock.sleep(backoffAfter(failures, backoff, random()), signal)
      }
    }
  }

  async #once<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, timeoutMs: number): Promise<T> {
    const { clock, signal } = this.#host
    if (timeoutMs === Number.POSITIVE_INFINITY) return run(signal)
    const tooLong = new AbortController()
    const ended = new AbortController()
    const late = new Promise<never>((_, reject) => {
      void clock.sleep(timeoutMs, ended.signal).then(() => {
        if (ended.signal.aborted) return
        const error = new RetomaError('step_timeout', { step: name, seconds: timeoutMs / 1000 })
        tooLong.abort(error)
        reject(error)
      })
    })
    try {
      return await Promise.race([run(AbortSignal.any([signal, tooLong.signal])), late])
    } finally {
      ended.abort()
    }
  }
}

/** The work is done and would be done again for nothing: not retried. */
const unkept = (name: string, problem: Saying) =>
  doNotRetry(
    new RetomaError('bad_value', {
      what: say(`the result of step "${name}"`, `o resultado da etapa "${name}"`),
      problem,
    }),
  )
