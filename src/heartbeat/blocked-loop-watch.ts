/**
 * Watches the own process from the heartbeat thread: a blocked loop, a job past its deadline in a blocked loop, memory over the limit. Logs
 * the problem; under a supervisor, or with `killWhenHung`, also ends the process and names the job.
 *
 * Invariant: only the job on the blocked stack can be past its deadline there: the other jobs only wait. If no job can be named, the
 * process ends once every running attempt would be past its deadline. The process is never killed without a supervisor, unless
 * `killWhenHung` is set.
 */
import { hungAfter } from '../jobs/model/policy.ts'
import { writeStatusFile } from '../supervisor/status-files.ts'
import { recordSuspectedJob } from '../supervisor/suspected-job-file.ts'
import type { Blocked } from '../worker/sql/lease-heartbeat.ts'
import type { RunningJob } from './current-job-hook.ts'
import { EventLoopLag } from './event-loop-lag.ts'
import type { MainThreadStack } from './main-thread-stack.ts'
import { checkIntervalMs, noteCheck } from './process-pauses.ts'
import { type SharedState, slot } from './shared-state.ts'
import type { ThreadLog } from './thread-log.ts'
import type { HeartbeatThreadData } from './thread-messages.ts'

export interface BlockedLoopWatchOptions {
  task: HeartbeatThreadData
  threadLog: ThreadLog
  /** Reads the stack and the job of the main thread. */
  readStack: () => Promise<MainThreadStack>
  /** There is news for the next heartbeat. */
  news: () => void
  now: () => number
  memory: () => number
  kill: () => void
}

/** A loop blocked for this long has stopped attempt clocks. */
const standsMs = 1000
/** The wait before the next stack of a job before its deadline. */
const againMs = 1000
/** The wait before the next stack if no job could be named, because of native code or a busy machine. */
const unnamedMs = 5000

/** Stacks of a process over its memory limit whose loop is blocked, after the first three stacks named no job. */
const furtherStacks = 5

interface Block {
  since: number
  /** The blocked loop was logged. */
  reported: boolean
  seen: MainThreadStack | undefined
  readAgainAt: number
  nameAgainAt: number
}

export class BlockedLoopWatch {
  readonly #options: BlockedLoopWatchOptions
  readonly #watch: EventLoopLag
  #block: Block | undefined
  #busy = false
  #overCap = false
  #freedAt: number | undefined
  /** The value of the last tick. */
  memoryBytes = 0

  constructor(options: BlockedLoopWatchOptions) {
    this.#options = options
    this.#watch = new EventLoopLag(checkIntervalMs, options.now())
  }

  /** The blocked loop for the heartbeat; null until the loop was blocked long enough to be logged. */
  get blocked(): Blocked | null {
    if (!this.#block?.reported) return null
    const { since, seen } = this.#block
    const job = this.#jobOn(seen)
    const stack = seen?.stack ?? 'in native code'
    return { ms: this.#options.now() - since, job: job?.id ?? null, attempt: job?.attempt ?? null, stack }
  }

  /** Milliseconds since the loop was free again; null once a heartbeat has reported this. */
  get unblockedMs(): number | null {
    return this.#freedAt === undefined ? null : this.#options.now() - this.#freedAt
  }

  landed(): void {
    this.#freedAt = undefined
  }

  /** Never waits: slow checks run beside the tick, a single check at a time. */
  tick(): void {
    const { task, now, memory } = this.#options
    noteCheck(task.sharedState, now())
    const blockedMs = this.#watch.blockedMs(now(), task.sharedState[slot.turnAt]!)
    this.memoryBytes = memory()
    if (blockedMs < standsMs) this.#turns()
    else this.#block ??= { since: now() - blockedMs, reported: false, seen: undefined, readAgainAt: 0, nameAgainAt: 0 }
    if (this.#busy) return
    this.#busy = true
    void this.#examine(blockedMs).finally(() => {
      this.#busy = false
    })
  }

  /** The loop turns again. The main loop has read the named job by now. */
  #turns(): void {
    const block = this.#block
    if (block === undefined) return
    const { task, threadLog, now, news } = this.#options
    this.#block = undefined
    this.#freedAt = now()
    name(task.sharedState, undefined)
    if (!block.reported) return
    const ms = Math.round(now() - block.since)
    threadLog.say({ level: 'warn', facts: { ms }, message: 'the main loop is free again' })
    news()
  }

  async #examine(blockedMs: number): Promise<void> {
    if (this.memoryBytes > this.#options.task.memoryBytes) await this.#overMemory(blockedMs)
    else if (this.memoryBytes < this.#options.task.memoryBytes * 0.95) this.#overCap = false
    const block = this.#block
    if (block === undefined) return
    if (blockedMs >= hungAfter && this.#isToReport(block)) await this.#report(block)
    if (this.#maybeLate(block)) await this.#judge(block)
  }

  /** True if not yet logged, or logged without a job and a job may be found by now. */
  #isToReport({ reported, seen, nameAgainAt }: Block): boolean {
    return !reported || (this.#jobOn(seen) === undefined && this.#options.now() >= nameAgainAt)
  }

  async #report(block: Block): Promise<void> {
    const { task, threadLog, readStack, now, news } = this.#options
    const seen = await readStack()
    if (this.#block !== block) return
    block.nameAgainAt = now() + unnamedMs
    const job = this.#jobOn(seen)
    // A single log line without a job is enough.
    if (block.reported && job === undefined) return
    block.seen = seen
    block.reported = true
    name(task.sharedState, job)
    news()
    const facts = {
      ...(job === undefined ? { running: task.sharedState[slot.running] } : { job: job.id, attempt: job.attempt }),
      ms: Math.round(now() - block.since),
      stack: block.seen.stack ?? 'in native code',
    }
    const by = job === undefined ? '' : ` by job ${job.id}`
    threadLog.say({ level: 'error', facts, message: `the main loop is blocked${by}${topOf(block.seen)}` })
  }

  #maybeLate(block: Block): boolean {
    const { task, now } = this.#options
    // Perhaps no deadline is running, and an abandoned handler blocks the loop.
    const due = task.sharedState[slot.dueAt] || task.sharedState[slot.allDueAt]!
    const mayKill = task.reportFolder !== undefined || task.killWhenHung
    return mayKill && due > 0 && now() >= Math.max(due, block.readAgainAt)
  }

  /** Some attempt is past its deadline. Only the attempt on the stack counts. */
  async #judge(block: Block): Promise<void> {
    const { readStack, now } = this.#options
    const seen = await readStack()
    if (this.#block !== block) return
    const job = this.#jobOn(seen)
    const seconds = ((now() - block.since) / 1000).toFixed(1)
    if (job === undefined && this.#isAnybodyLate(block)) {
      const why = `its main loop has been blocked for ${seconds} s, and all that run are out of time; nobody can be named`
      return this.#die(undefined, seen, 'timeout', why)
    }
    if (job === undefined || job.leftMs > 0) {
      block.readAgainAt = now() + Math.max(job?.leftMs ?? 0, againMs)
      return
    }
    this.#die(job, seen, 'timeout', `it blocked the main loop for ${seconds} s, past its timeout`)
  }

  #isAnybodyLate(block: Block): boolean {
    const allDue = this.#options.task.sharedState[slot.allDueAt]!
    return block.reported && allDue > 0 && this.#options.now() >= allDue
  }

  async #overMemory(blockedMs: number): Promise<void> {
    if (this.#overCap) return
    this.#overCap = true
    const { task, threadLog } = this.#options
    const { job, seen } = await this.#hungry(blockedMs)
    const bytes = this.memoryBytes
    const why = `the process has ${megabytes(bytes)} MB, over its cap of ${megabytes(task.memoryBytes)} MB`
    if (task.reportFolder !== undefined) return this.#die(job, seen, 'memory', why)
    const facts = { ...(job && { job: job.id, attempt: job.attempt }), stack: seen.stack, memoryBytes: bytes }
    threadLog.say({ level: 'error', facts, message: why })
  }

  /** Names the job that runs alone or blocks the loop; otherwise the job seen in all three stacks. */
  async #hungry(blockedMs: number): Promise<{ job: RunningJob | undefined; seen: MainThreadStack }> {
    const seen = await this.#options.readStack()
    const job = this.#jobOn(seen)
    const { readStack, now, task } = this.#options
    if ((job !== undefined && blockedMs >= standsMs) || task.sharedState[slot.running]! <= 1) return { job, seen }
    const again = [await readStack(), await readStack()]
    // The loop was blocked during all stacks: the job seen once is the cause, although other stacks show native code.
    if (now() - task.sharedState[slot.turnAt]! >= standsMs) {
      let found = [seen, ...again].find(each => this.#jobOn(each) !== undefined)
      // On a busy machine a request for the stack may get no answer within its deadline. A process that dies without a named job dies again.
      for (let left = furtherStacks; found === undefined && left > 0; left--) {
        const more = await readStack()
        if (this.#jobOn(more) !== undefined) found = more
      }
      return { job: this.#jobOn(found), seen: found ?? seen }
    }
    const isSame = again.every(each => job !== undefined && this.#jobOn(each)?.id === job.id)
    return { job: isSame ? job : undefined, seen }
  }

  #die(job: RunningJob | undefined, seen: MainThreadStack, how: 'timeout' | 'memory', why: string): void {
    const { task, threadLog, kill } = this.#options
    if (task.reportFolder !== undefined) {
      if (job === undefined) writeStatusFile(task.reportFolder, how === 'memory' ? 'memory' : 'hung')
      else
        recordSuspectedJob(task.reportFolder, {
          job: job.id,
          attempt: job.attempt,
          how,
          message: why,
          stack: seen.stack,
        })
    }
    const facts = { ...(job && { job: job.id, attempt: job.attempt }), stack: seen.stack ?? 'in native code' }
    threadLog.sayLast({ level: 'error', facts, message: `this process ends itself: ${why}` })
    kill()
  }

  /** The job on the stack; in native code, the job that runs alone. */
  #jobOn(seen: MainThreadStack | undefined): RunningJob | undefined {
    if (seen === undefined || seen.stack !== null) return seen?.job ?? undefined
    const { task, now } = this.#options
    const { sharedState } = task
    const id = sharedState[slot.soleJob]!
    if (id === 0 || sharedState[slot.running] !== 1) return undefined
    const leftMs = sharedState[slot.dueAt]! - now()
    return { id: String(id), attempt: sharedState[slot.soleAttempt]!, kind: '', leftMs }
  }
}

function name(sharedState: SharedState, job: RunningJob | undefined): void {
  sharedState[slot.blockedJob] = job === undefined ? 0 : Number(job.id)
  sharedState[slot.blockedAttempt] = job?.attempt ?? 0
}

const topOf = ({ stack }: MainThreadStack) => (stack === null ? ', in native code' : `, in ${stack.split(' < ')[0]}`)

const megabytes = (bytes: number) => Math.round(bytes / 1e6)
