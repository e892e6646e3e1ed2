/**
 * Functions that handlers call in a process of their own (`ctx.isolated`), at most one for each core at once: their authors'
 * code spins and leaks, and a queue's slots were counted for handlers that wait.
 *
 * Invariant: a call answers what its function returned, or throws, and its process is idle or dead by then. Its death is an
 * error of the call: whoever called decides what it means for the job. The time of a call is the time in which its process
 * computed or waited for something of its own: neither the line before it nor what other processes took of the machine counts.
 */
import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import { noChildFree } from '../core/hand-back.ts'
import type { IsolatedCall } from '../core/isolated.ts'
import { megabytes } from '../core/megabytes.ts'
import type { Evidence } from '../core/outcome.ts'
import { type Fact, RetomaError } from '../errors.ts'
import { systemClock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import { moduleOf } from './able.ts'
import { ChildLine } from './child-line.ts'
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
  /** Whether its job may go back and wait without a slot, as of now. */
  mayGoBack: () => boolean
  /** A process is there for the function, or was. */
  holds: (more: 1 | -1) => void
  /** The machine has computed something else for so long while the function was ready to go on, since it was last told. */
  stole: (ms: number) => void
  log: Log
  parentStoppedMs: number
}

/** Answers what the function returned, as core/value.ts writes it. */
export type Isolate = (call: IsolatedCall, caller: Caller) => Promise<string>

/** From its signal until it is killed. */
const lastWordMs = 500
/** However little of the machine a function gets: after so many times its timeout it is ended. */
const mostWall = 10
/** So often it is looked at how much of the machine a function gets. */
const lookMs = 1000
/** What an earlier call left in a child may end it under this one: so often it goes to another. */
const otherChildren = 3

export class Calls {
  readonly #children: Children
  readonly #line: ChildLine
  readonly #runs = new Set<Run>()

  /** `freed`: processes are free, and nobody waits here: so many calls would have one within a moment. */
  constructor(children: Children, freed: (calls: number) => void, most = availableParallelism()) {
    this.#children = children
    const { elapsed, sleep } = systemClock
    this.#line = new ChildLine(most, { elapsed, sleep, freed })
  }

  /** How many calls that are not here would have a process within a moment. */
  get room(): number {
    return this.#line.room
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
      if (late !== undefined || !('handBack' in ended)) throw errorOf(call, ended, late)
      if (left > 0) continue
      throw new RetomaError('child_not_started', { place: placeName(nature), problem: ended.handBack })
    }
  }

  /** No process is left. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#runs, run => run.kill()))
  }

  async #once(call: IsolatedCall, nature: Nature, caller: Caller): Promise<WithinEnd> {
    const { signal, awake, log, mayGoBack, holds } = caller
    // A handler may call many at once.
    setMaxListeners(0, signal)
    const turn = await this.#line.take({ signal, mayRefuse: mayGoBack })
    if (turn === 'aborted') throw signal.reason
    if ('refusedFor' in turn) throw noChildFree(turn.refusedFor)
    holds(1)
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
      const ended = within(run, caller, began, call)
      await Promise.race([began, ended])
      return await awake(() => ended)
    } finally {
      holds(-1)
      turn.end()
    }
  }
}

/** Why it was ended before it had answered; with what it threw then, if anything. */
type Late = (own?: { cause?: unknown }) => RetomaError

interface WithinEnd {
  ended: RunEnd
  /** undefined: it was not. */
  late: Late | undefined
}

/** The run's end. When its time is up, or the signal aborts, it hears that, and is killed a moment later. */
async function within(
  run: Run,
  { signal, stole }: Caller,
  began: Promise<void>,
  { step, timeoutMs }: IsolatedCall,
): Promise<WithinEnd> {
  const over = new AbortController()
  let late: Late | undefined
  const aborted = new Promise<unknown>(resolve => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true, signal: over.signal })
    if (signal.aborted) resolve(signal.reason)
  })
  const tooLate = async () => {
    await began
    const begunAt = systemClock.elapsed()
    for (let told = 0; ; ) {
      const wall = systemClock.elapsed() - begunAt
      const stolen = Math.max(run.stolenMs, told)
      stole(stolen - told)
      told = stolen
      const left = timeoutMs + stolen - wall
      if (left > 0 && wall < timeoutMs * mostWall) {
        await systemClock.sleep(Math.min(left, lookMs), over.signal)
        if (!over.signal.aborted) continue
      }
      const reason = lateOf(step, { timeoutMs, wall, stolen })
      if (!over.signal.aborted) late = reason
      return reason()
    }
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

/** It has had its time; or the machine gave it so little that nothing is known of it. */
function lateOf(step: string, { timeoutMs, wall, stolen }: { timeoutMs: number; wall: number; stolen: number }): Late {
  const seconds = timeoutMs / 1000
  if (wall - stolen >= timeoutMs) return (own = {}) => new RetomaError('isolated_timeout', { step, seconds }, own)
  const rounded = (ms: number) => Math.round(ms / 100) / 10
  const facts = { step, seconds, given: rounded(wall - stolen), wall: rounded(wall) }
  return (own = {}) => new RetomaError('isolated_starved', facts, own)
}

function errorOf({ step, memoryBytes }: IsolatedCall, ended: RunEnd, late: Late | undefined): unknown {
  const own = 'end' in ended ? { cause: unpackError((ended.end as { error: PackedError }).error) } : {}
  if (late !== undefined) return late(own)
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
