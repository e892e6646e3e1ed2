/**
 * Functions that handlers call in a process of their own (`ctx.isolated`), at most one for each core at once: their authors'
 * code spins and leaks, and a queue's slots were counted for handlers that wait.
 *
 * Invariant: a call answers what its function returned, or throws, and its process is idle or dead by then. Its death is an
 * error of the call: whoever called decides what it means for the job.
 */
import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import type { IsolatedCall } from '../core/isolated.ts'
import { megabytes } from '../core/megabytes.ts'
import type { Evidence } from '../core/outcome.ts'
import { type Fact, RetomaError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { Turns } from '../lib/turns.ts'
import { moduleOf } from './able.ts'
import type { Children } from './children.ts'
import { placeName } from './crash.ts'
import { type PackedError, unpackError } from './packed-error.ts'
import type { Host, Run, RunEnd } from './run.ts'
import type { CallEnd, Nature } from './wire.ts'

export interface Caller {
  /** Whoever calls does not want it any more, or may not. */
  signal: AbortSignal
  /** Around the time that is the function's own; before it a turn and a child are waited for. */
  awake: <T>(work: () => Promise<T>) => Promise<T>
  log: Log
  parentStoppedMs: number
}

/** Answers what the function returned, as core/value.ts writes it. */
export type Isolate = (call: IsolatedCall, caller: Caller) => Promise<string>

/** From its signal until it is killed. */
const lastWordMs = 500
/** What an earlier call left in a child may end it under this one: so often it goes to another. */
const otherChildren = 3

export class Calls {
  readonly #children: Children
  readonly #turns: Turns
  readonly #runs = new Set<Run>()

  constructor(children: Children, most = availableParallelism()) {
    this.#children = children
    this.#turns = new Turns(Math.max(most, 1))
  }

  readonly call: Isolate = async (call, caller) => {
    const nature: Nature = {
      isolation: 'process',
      memoryBytes: call.memoryBytes,
      environment: call.environment,
      parentStoppedMs: caller.parentStoppedMs,
    }
    for (let left = otherChildren; ; left--) {
      const { ended, late } = await this.#once(call, nature, caller)
      if ('end' in ended && 'text' in (ended.end as CallEnd)) return (ended.end as { text: string }).text
      caller.signal.throwIfAborted()
      if (late || !('handBack' in ended)) throw errorOf(call, ended, late)
      if (left > 0) continue
      throw new RetomaError('child_not_started', { place: placeName(nature), problem: ended.handBack })
    }
  }

  /** No process is left. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#runs, run => run.kill()))
  }

  async #once(call: IsolatedCall, nature: Nature, caller: Caller): Promise<{ ended: RunEnd; late: boolean }> {
    const { signal, awake, log } = caller
    // A handler may call many at once.
    setMaxListeners(0, signal)
    const over = await this.#turns.take(signal)
    if (over === undefined) throw signal.reason
    try {
      let begin: () => void = () => {}
      const began = new Promise<void>(resolve => {
        begin = resolve
      })
      // Its function has no context: it asks for nothing.
      const host: Partial<Host> = { began: begin, log: (level, facts, message) => log[level](facts, message) }
      const run = this.#children.run({ call, work: moduleOf(call.module) }, nature, host as Host)
      this.#runs.add(run)
      void run.ended.then(() => this.#runs.delete(run))
      const ended = within(run, signal, began, call)
      await Promise.race([began, ended])
      return await awake(() => ended)
    } finally {
      over()
    }
  }
}

/** The run's end. When its time is up, or the signal aborts, it hears that, and is killed a moment later. */
async function within(
  run: Run,
  signal: AbortSignal,
  began: Promise<void>,
  { step, timeoutMs }: IsolatedCall,
): Promise<{ ended: RunEnd; late: boolean }> {
  const over = new AbortController()
  let late = false
  const aborted = new Promise<unknown>(resolve => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true, signal: over.signal })
    if (signal.aborted) resolve(signal.reason)
  })
  const tooLate = async () => {
    await began
    await systemClock.sleep(timeoutMs, over.signal)
    late = !over.signal.aborted
    return new RetomaError('isolated_timeout', { step, seconds: timeoutMs / 1000 })
  }
  const stopped = async (): Promise<RunEnd> => {
    const reason = await Promise.race([aborted, tooLate()])
    run.abort(reason)
    await systemClock.sleep(lastWordMs, over.signal)
    await run.kill()
    return { thrown: reason }
  }
  try {
    return { ended: await Promise.race([run.ended, stopped()]), late }
  } finally {
    over.abort('over')
  }
}

function errorOf({ step, timeoutMs, memoryBytes }: IsolatedCall, ended: RunEnd, late: boolean): unknown {
  const own = 'end' in ended ? { cause: unpackError((ended.end as { error: PackedError }).error) } : {}
  if (late) return new RetomaError('isolated_timeout', { step, seconds: timeoutMs / 1000 }, own)
  if (!('thrown' in ended)) return own.cause
  if (ended.crash === undefined) return ended.thrown
  const { cause } = ended.thrown as Error
  const options = cause === undefined ? {} : { cause }
  if (ended.crash.outOfMemory)
    return new RetomaError('isolated_memory', { step, megabytes: Math.round(memoryBytes / megabytes(1)) }, options)
  return new RetomaError('isolated_crash', { step, how: ended.crash.how, ...factsOf(ended.evidence) }, options)
}

/** Those that are known. */
const factsOf = (evidence: Evidence = {}): Record<string, Fact> =>
  Object.fromEntries(
    Object.entries(evidence).flatMap(([name, value]) => (value === null ? [] : [[name, value as Fact]])),
  )
