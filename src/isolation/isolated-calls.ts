/**
 * Runs the isolated functions of handlers (`ctx.isolated`) in child processes, at most one per core at once: these functions compute and
 * leak, while the slots of a queue are sized for handlers that wait. Background functions have a line of their own with a process fewer,
 * so that a short function never waits for a long background function.
 *
 * Invariant: a call returns the result of its function or throws, and its process is idle or dead by then. The crash of the process is an
 * error of the call: the caller decides the consequence for the job. The time of a call is the time in which its process computed or waited
 * for something of its own: neither the wait for a free process nor the time of other processes on the machine counts.
 */
import { setMaxListeners } from 'node:events'
import { type ErrorFact, RetomaError } from '../errors/errors.ts'
import { type CallLine, noChildFree } from '../jobs/model/deferral.ts'
import type { Evidence } from '../jobs/model/outcome.ts'
import { systemClock } from '../lib/clock.ts'
import { coreCount } from '../lib/process/core-count.ts'
import { megabytes } from '../lib/values/bytes.ts'
import { placeName } from './child-crash.ts'
import type { ChildPool } from './child-pool.ts'
import type { CallEnd, Nature } from './child-protocol.ts'
import { ChildQueue } from './child-queue.ts'
import type { ChildHost, ChildRun, ChildRunEnd } from './child-run.ts'
import { type PackedError, unpackError } from './error-wire.ts'
import type { IsolationMode } from './isolation-mode.ts'
import type { IsolatedCall } from './model/isolated-call.ts'

export interface Caller {
  /** Aborts when the caller no longer wants the result, or lost the lease. */
  signal: AbortSignal
  /** Wraps the function's own time; before, the call waits for a turn and a child. */
  awake: <T>(work: () => Promise<T>) => Promise<T>
  /** True if the job may be deferred and wait without a slot, as of now. */
  mayGoBack: () => boolean
  /** The function has a process (1), or no longer has a process (-1). */
  holds: (more: 1 | -1) => void
  /** Milliseconds since the last call of `stole` in which the machine ran other processes although the function was ready to run. */
  stole: (ms: number) => void
  log: ChildHost['log']
  parentStoppedMs: number
}

/** Runs functions in child processes: a worker does, and a child by request to its parent. */
export interface Isolator {
  /** Returns the result of the function, encoded by lib/values/value-codec.ts. */
  isolate(call: IsolatedCall, caller: Caller): Promise<string>
}

/** The time from the signal until the kill. */
const lastWordMs = 500
/** A function ends after 10 times its timeout, however little processor time it received. */
const mostWall = 10
/** The interval of checks of the function's processor time. */
const checkMs = 1000
/** Leftovers of an earlier call in a child may crash the child during this call: the number of further children to try. */
const otherChildren = 3

export class IsolatedCalls implements Isolator {
  readonly #childPool: ChildPool
  readonly #isolationMode: IsolationMode
  readonly #lines: Readonly<Record<CallLine, ChildQueue>>
  readonly #runs = new Set<ChildRun>()

  /** `freed` reports free processes while no call waits here: the number of calls that would get a process soon. */
  constructor(
    childPool: ChildPool,
    isolationMode: IsolationMode,
    freed: (calls: number, line: CallLine) => void,
    most = coreCount(),
  ) {
    this.#childPool = childPool
    this.#isolationMode = isolationMode
    const { elapsed, sleep } = systemClock
    const lineOf = (line: CallLine, size: number) =>
      new ChildQueue(size, { elapsed, sleep, freed: calls => freed(calls, line) })
    this.#lines = { foreground: lineOf('foreground', most), background: lineOf('background', most - 1) }
  }

  /** The number of further calls of the line that would get a process soon. */
  room(line: CallLine): number {
    return this.#lines[line].room
  }

  async isolate(call: IsolatedCall, caller: Caller): Promise<string> {
    const nature: Nature = {
      isolation: 'process',
      memoryBytes: call.memoryBytes,
      environment: call.environment,
      nice: call.nice,
      parentStoppedMs: caller.parentStoppedMs,
    }
    for (let left = otherChildren; ; left--) {
      const { ended, late } = await this.#once(call, nature, caller)
      if ('end' in ended && 'text' in (ended.end as CallEnd)) return (ended.end as { text: string }).text
      caller.signal.throwIfAborted()
      if (late !== undefined || !('deferred' in ended)) throw errorOf(call, ended, late)
      if (left > 0) continue
      throw new RetomaError('child_not_started', { place: placeName(nature), problem: ended.deferred })
    }
  }

  /** Kills all processes. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#runs, run => run.kill()))
  }

  async #once(call: IsolatedCall, nature: Nature, caller: Caller): Promise<WithinEnd> {
    const { signal, awake, log, mayGoBack, holds } = caller
    // A handler may run many calls at once.
    setMaxListeners(0, signal)
    const line: CallLine = call.background ? 'background' : 'foreground'
    const turn = await this.#lines[line].take({ signal, mayRefuse: mayGoBack })
    if (turn === 'aborted') throw signal.reason
    if ('refusedFor' in turn) throw noChildFree(turn.refusedFor, line)
    holds(1)
    try {
      let begin: () => void = () => {}
      const began = new Promise<void>(resolve => {
        begin = resolve
      })
      // The function has no context and sends no requests.
      const host: ChildHost = {
        began: begin,
        storage: undefined,
        isolate: () => Promise.reject(new TypeError('an isolated function has no context')),
        log,
      }
      const run = this.#childPool.run({ call, work: this.#isolationMode.moduleOf(call.module) }, nature, host)
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

/** The reason for ending a call before its result; `own` holds the error thrown by the function, if any. */
type Late = (own?: { cause?: unknown }) => RetomaError

interface WithinEnd {
  ended: ChildRunEnd
  /** Undefined: the call was not ended early. */
  late: Late | undefined
}

/** Resolves with the end of the run. On timeout or abort the function's signal aborts, and the process is killed 500 ms later. */
async function within(
  run: ChildRun,
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
    for (let counted = 0; ; ) {
      const wall = systemClock.elapsed() - begunAt
      const stolen = Math.max(run.stolenMs, counted)
      stole(stolen - counted)
      counted = stolen
      const left = timeoutMs + stolen - wall
      if (left > 0 && wall < timeoutMs * mostWall) {
        await systemClock.sleep(Math.min(left, checkMs), over.signal)
        if (!over.signal.aborted) continue
      }
      const reason = lateOf(step, { timeoutMs, wall, stolen })
      if (!over.signal.aborted) late = reason
      return reason()
    }
  }
  const stopped = async (): Promise<ChildRunEnd> => {
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

/** The function used its whole time; or the machine gave so little time that nothing is known about the function. */
function lateOf(step: string, { timeoutMs, wall, stolen }: { timeoutMs: number; wall: number; stolen: number }): Late {
  const seconds = timeoutMs / 1000
  if (wall - stolen >= timeoutMs) return (own = {}) => new RetomaError('isolated_timeout', { step, seconds }, own)
  const rounded = (ms: number) => Math.round(ms / 100) / 10
  const facts = { step, seconds, given: rounded(wall - stolen), wall: rounded(wall) }
  return (own = {}) => new RetomaError('isolated_starved', facts, own)
}

function errorOf({ step, memoryBytes }: IsolatedCall, ended: ChildRunEnd, late: Late | undefined): unknown {
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

/** The known facts of the evidence. */
const factsOf = (evidence: Evidence = {}): Record<string, ErrorFact> =>
  Object.fromEntries(
    Object.entries(evidence).flatMap(([name, value]) => (value === null ? [] : [[name, value as ErrorFact]])),
  )
