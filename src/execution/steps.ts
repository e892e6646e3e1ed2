/**
 * Runs the steps of an attempt. A step saved by an earlier attempt does not run again: `step` returns the saved result.
 *
 * Invariant: `step` resolves only after the commit of the checkpoint, and only while the attempt has the lease. So the code after a step
 * may rely on the step after any crash. An attempt does not end before its steps have ended.
 */

import { setMaxListeners } from 'node:events'
import { type LocalizedText, localized, RetomaError } from '../errors/errors.ts'
import { backoffAfter } from '../jobs/model/backoff.ts'
import { deferralOf } from '../jobs/model/deferral.ts'
import type { JobTransaction, StepOptions } from '../jobs/model/job-context.ts'
import { doNotRetry, isNonRetryable } from '../jobs/model/outcome.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { inSpan } from '../lib/trace.ts'
import { decodeValue, encodeValue } from '../lib/values/value-codec.ts'
import type { AttemptStorage } from './model/attempt-storage-calls.ts'
import { type CheckedStep, checkStepFunction, checkStepName, checkStepOptions } from './model/step.ts'

/** The attempt, as the steps see it. On a lost lease the attempt's signal has aborted before `save` or `transact` resolves. */
export interface StepHost extends Pick<AttemptStorage, 'load' | 'save' | 'transact'> {
  readonly job: string
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
  /** The total time during which another job blocked this attempt. */
  readonly pausedMs: number
}

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
    checkStepName(name)
    checkStepFunction(run)
    return this.keep(name, run, checkStepOptions(options))
  }

  /** Like `step`, with checked arguments. */
  keep<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, options: CheckedStep): Promise<T> {
    return this.#begin(name, async () => {
      const value = await this.#tries(options, () => this.#once(name, run, options.timeoutMs))
      await this.#save(name, textOf(name, value, options.maxBytes))
      return value
    })
  }

  async transaction<T>(
    name: string,
    run: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<T> {
    checkStepName(name)
    const checked = checkStepOptions(options)
    return this.#begin(name, () => this.#tries(checked, () => this.#transact(name, run, checked)))
  }

  async #begin<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#over) throw new RetomaError('attempt_over', { job: this.#host.job, step: name })
    if (this.#begun.has(name)) throw doNotRetry(new RetomaError('step_twice', { step: name }))
    this.#begun.add(name)
    const kept = this.saved(name).then(before =>
      before === undefined ? inSpan(`step ${name}`, work) : (before.value as T),
    )
    this.#open.set(name, kept)
    const done = () => void this.#open.delete(name)
    kept.then(done, done)
    return kept
  }

  /** The handler has ended: waits for open steps, and returns the names of steps without an `await`. No step begins after this call. */
  async close(): Promise<string[]> {
    const left = [...this.#open.keys()]
    this.#over = true
    await Promise.allSettled(this.#open.values())
    return left
  }

  /** True once the attempt has ended or its signal has aborted. */
  get isOver(): boolean {
    return this.#over || this.#host.signal.aborted
  }

  /** Saved steps of earlier attempts that this attempt never used. Empty if the attempt used no steps. */
  async unused(): Promise<string[]> {
    // The caller of a step has already received the load error.
    const saved = (await this.#saved?.catch(() => undefined)) ?? new Map<string, unknown>()
    return [...saved.keys()].filter(name => !this.#begun.has(name))
  }

  /** The result saved under this name by an earlier attempt. */
  async saved(name: string): Promise<{ value: unknown } | undefined> {
    this.#saved ??= this.#host.load()
    const all = await this.#saved
    return all.has(name) ? { value: decodeValue(all.get(name)) } : undefined
  }

  async #save(name: string, text: string): Promise<void> {
    const how = await this.#host.save(name, text)
    if (how === 'rejected') throw unkept(name, localized('PostgreSQL refuses it', 'o PostgreSQL recusa'))
    if (how !== 'written') throw this.#gone(name)
  }

  async #tries<T>({ maxAttempts: attempts, backoff }: CheckedStep, once: () => Promise<T>): Promise<T> {
    const { clock, signal, random } = this.#host
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted()
      try {
        return await once()
      } catch (error) {
        if (failures >= attempts || signal.aborted || isNonRetryable(error) || deferralOf(error) !== undefined)
          throw error
        await clock.sleep(backoffAfter(failures, backoff, random()), signal)
      }
    }
  }

  async #once<T>(name: string, run: (signal: AbortSignal) => T | Promise<T>, timeoutMs: number): Promise<T> {
    if (timeoutMs === Number.POSITIVE_INFINITY) return run(this.#host.signal)
    const time = this.#timed(name, timeoutMs)
    try {
      time.begin()
      return await Promise.race([run(time.signal), time.late])
    } finally {
      time.end()
    }
  }

  /** Waits for a commit under way even after a timeout. */
  async #transact<T>(
    name: string,
    run: (tx: JobTransaction, signal: AbortSignal) => T | Promise<T>,
    options: CheckedStep,
  ): Promise<T> {
    const time = this.#timed(name, options.timeoutMs)
    let value: T
    try {
      const done = await this.#host.transact(
        name,
        async tx => {
          // The time starts here: the wait for an unreachable database does not count.
          time.begin()
          value = await run(tx, time.signal)
          time.end()
          return textOf(name, value, options.maxBytes)
        },
        time.signal,
      )
      if (done.how === 'lease_lost') throw this.#gone(name)
      return done.how === 'there' ? (decodeValue(done.value) as T) : value!
    } finally {
      time.end()
    }
  }

  /** `signal` aborts with the attempt or on the timeout, counted from `begin`; `late` rejects on the timeout. */
  #timed(name: string, timeoutMs: number): Timed {
    const tooLong = new AbortController()
    let ended: AbortController | undefined
    let reject: (error: unknown) => void = () => {}
    const late = new Promise<never>((_, rejected) => {
      reject = rejected
    })
    late.catch(() => {})
    const end = () => ended?.abort('over')
    const signal = AbortSignal.any([this.#host.signal, tooLong.signal])
    setMaxListeners(0, signal)
    return {
      signal,
      late,
      begin: () => {
        end()
        if (timeoutMs === Number.POSITIVE_INFINITY) return
        const over = new AbortController()
        ended = over
        void this.#passes(timeoutMs, over.signal).then(() => {
          if (over.signal.aborted) return
          const error = new RetomaError('step_timeout', { step: name, seconds: timeoutMs / 1000 })
          tooLong.abort(error)
          reject(error)
        })
      },
      end,
    }
  }

  /** Waits for `ms` of the attempt's own time. */
  async #passes(ms: number, over: AbortSignal): Promise<void> {
    const { clock } = this.#host
    const begunAt = clock.elapsed() - this.#host.pausedMs
    const left = () => begunAt + ms + this.#host.pausedMs - clock.elapsed()
    while (!over.aborted && left() > 0) await clock.sleep(left(), over)
  }

  #gone(name: string): unknown {
    return this.#host.signal.reason ?? new RetomaError('attempt_over', { job: this.#host.job, step: name })
  }
}

interface Timed {
  signal: AbortSignal
  late: Promise<never>
  begin: () => void
  end: () => void
}

/** Encodes the result of a step for a checkpoint. */
export function textOf(name: string, value: unknown, most: number): string {
  const encoded = encodeValue(value, { root: 'result' })
  if (!encoded.ok) throw unkept(name, encoded.problem)
  const bytes = Buffer.byteLength(encoded.text)
  if (bytes > most) throw doNotRetry(new RetomaError('step_too_large', { step: name, bytes, most }))
  return encoded.text
}

/** Not retried: the work is done, and would be done again for nothing. */
const unkept = (name: string, problem: LocalizedText) =>
  doNotRetry(
    new RetomaError('bad_value', {
      what: localized(`the result of step "${name}"`, `o resultado da etapa "${name}"`),
      problem,
    }),
  )
