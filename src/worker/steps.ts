/**
 * The named parts of one attempt. A step that was saved by an earlier attempt is not run again: what it returned comes back.
 *
 * Invariant: `step` resolves only once its checkpoint is committed, and only while the attempt holds the job; so whatever
 * follows it may count on it, after any crash. An attempt does not end before its steps have.
 */
import { backoffAfter } from '../core/backoff.ts'
import type { JobTransaction } from '../core/context.ts'
import { handBackOf } from '../core/hand-back.ts'
import { doNotRetry, isFinal } from '../core/outcome.ts'
import { type CheckedStep, checkStepName, checkStepOptions, type StepOptions } from '../core/step.ts'
import { decodeValue, encodeValue } from '../core/value.ts'
import { RetomaError, type Saying, say } from '../errors.ts'
import type { Clock } from '../lib/clock.ts'
import type { Random } from '../lib/random.ts'
import { inSpan } from '../lib/trace.ts'
import type { Landed } from './group-commit.ts'
import type { Transacted } from './transact.ts'

/** What steps need of the attempt they are in. */
export interface StepHost {
  readonly job: string
  readonly clock: Clock
  readonly random: Random
  readonly signal: AbortSignal
  /** For how long the attempt's time has stood still because of another job. */
  readonly stoodMs: number
  /** What earlier attempts have saved. */
  load(): Promise<ReadonlyMap<string, unknown>>
  /** Answers once it is certain; a lost lease has been told to the attempt by then. */
  save(name: string, value: string): Promise<Landed>
  /** Likewise, with what `work` asks in the same transaction; it answers what to save. */
  transact(name: string, work: (tx: JobTransaction) => Promise<string>, signal: AbortSignal): Promise<Transacted>
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
    return this.keep(checkStepName(name), run, checkStepOptions(options))
  }

  /** The same, with what was asked already checked. */
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
    const checked = checkStepOptions(options)
    return this.#begin(checkStepName(name), () => this.#tries(checked, () => this.#transact(name, run, checked)))
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

  /** The handler has ended: waits for steps it did not wait for, and answers their names. From here on none begins. */
  async close(): Promise<string[]> {
    const left = [...this.#open.keys()]
    this.#over = true
    await Promise.allSettled(this.#open.values())
    return left
  }

  /** The attempt has ended, or has been told to. */
  get isOver(): boolean {
    return this.#over || this.#host.signal.aborted
  }

  /** What earlier attempts saved and this one never asked for. Not looked for by an attempt that asked for nothing. */
  async unused(): Promise<string[]> {
    // What could not be loaded was told to whoever asked for a step.
    const saved = (await this.#saved?.catch(() => undefined)) ?? new Map<string, unknown>()
    return [...saved.keys()].filter(name => !this.#begun.has(name))
  }

  /** What an earlier attempt saved under this name. */
  async saved(name: string): Promise<{ value: unknown } | undefined> {
    this.#saved ??= this.#host.load()
    const all = await this.#saved
    return all.has(name) ? { value: decodeValue(all.get(name)) } : undefined
  }

  async #save(name: string, text: string): Promise<void> {
    const how = await this.#host.save(name, text)
    if (how === 'refused') throw unkept(name, say('PostgreSQL refuses it', 'o PostgreSQL recusa'))
    if (how !== 'landed') throw this.#gone(name)
  }

  async #tries<T>({ attempts, backoff }: CheckedStep, once: () => Promise<T>): Promise<T> {
    const { clock, signal, random } = this.#host
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted()
      try {
        return await once()
      } catch (error) {
        if (failures >= attempts || signal.aborted || isFinal(error) || handBackOf(error) !== undefined) throw error
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

  /** Never left behind: what is on its way to be committed is waited for, however late it is. */
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
          // From here: a database that is away is waited for, however long.
          time.begin()
          value = await run(tx, time.signal)
          time.end()
          return textOf(name, value, options.maxBytes)
        },
        time.signal,
      )
      if (done.how === 'lost') throw this.#gone(name)
      return done.how === 'there' ? (decodeValue(done.value) as T) : value!
    } finally {
      time.end()
    }
  }

  /** `signal`: the attempt's, and when the time from `begin` on is up; `late` rejects then. */
  #timed(name: string, timeoutMs: number): Timed {
    const tooLong = new AbortController()
    let ended: AbortController | undefined
    let reject: (error: unknown) => void = () => {}
    const late = new Promise<never>((_, rejected) => {
      reject = rejected
    })
    late.catch(() => {})
    const end = () => ended?.abort('over')
    return {
      signal: AbortSignal.any([this.#host.signal, tooLong.signal]),
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

  /** So much of the attempt's own time. */
  async #passes(ms: number, over: AbortSignal): Promise<void> {
    const { clock } = this.#host
    const begunAt = clock.elapsed() - this.#host.stoodMs
    const left = () => begunAt + ms + this.#host.stoodMs - clock.elapsed()
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

/** What is kept of it. */
export function textOf(name: string, value: unknown, most: number): string {
  const encoded = encodeValue(value, { root: 'result' })
  if (!encoded.ok) throw unkept(name, encoded.problem)
  const bytes = Buffer.byteLength(encoded.text)
  if (bytes > most) throw doNotRetry(new RetomaError('step_too_large', { step: name, bytes, most }))
  return encoded.text
}

/** The work is done and would be done again for nothing: not retried. */
const unkept = (name: string, problem: Saying) =>
  doNotRetry(
    new RetomaError('bad_value', {
      what: say(`the result of step "${name}"`, `o resultado da etapa "${name}"`),
      problem,
    }),
  )
