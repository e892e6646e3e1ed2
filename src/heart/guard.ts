/**
 * The heart's watch over its own process: a main loop that stands still, a job that is out of time behind it, memory over
 * its cap. It tells, and where somebody starts this process again it ends it and names the job.
 *
 * Invariant: only the job that is on the blocked stack can be out of time there: its neighbours only wait. Where nobody can be
 * named, the process ends once each that runs would be out of time, whichever it is. Nothing is killed without a
 * supervisor, unless asked for.
 */
import { hungAfter } from '../core/policy.ts'
import type { Blocked } from '../store/heartbeat.ts'
import { mark } from '../supervisor/marks.ts'
import { nameCulprit } from '../supervisor/papers.ts'
import type { Running } from './hook.ts'
import { LoopWatch } from './loop-watch.ts'
import type { HeartTask } from './messages.ts'
import { type Signs, sign } from './signs.ts'
import type { Seen } from './stack.ts'
import { lookMs, noteLook } from './stops.ts'
import type { Voice } from './voice.ts'

export interface GuardOptions {
  task: HeartTask
  voice: Voice
  /** What the main thread is doing. */
  look: () => Promise<Seen>
  /** There is news for the next beat. */
  news: () => void
  now: () => number
  memory: () => number
  kill: () => void
}

/** A loop that stood still for so long has stopped clocks. */
const standsMs = 1000
/** A job whose time is not up is not looked at again before this. */
const againMs = 1000
/** Nor is one that could not be named: it was in native code, or the machine was too busy to answer. */
const unnamedMs = 5000

interface Block {
  since: number
  /** Told as hung. */
  told: boolean
  seen: Seen | undefined
  lookAgainAt: number
  nameAgainAt: number
}

export class Guard {
  readonly #options: GuardOptions
  readonly #watch: LoopWatch
  #block: Block | undefined
  #busy = false
  #overCap = false
  #freedAt: number | undefined
  /** As last looked at. */
  memoryBytes = 0

  constructor(options: GuardOptions) {
    this.#options = options
    this.#watch = new LoopWatch(lookMs, options.now())
  }

  /** For the beat; told once it is hung. */
  get blocked(): Blocked | null {
    if (!this.#block?.told) return null
    const { since, seen } = this.#block
    const job = this.#jobOn(seen)
    const stack = seen?.stack ?? 'in native code'
    return { ms: this.#options.now() - since, job: job?.id ?? null, attempt: job?.attempt ?? null, stack }
  }

  /** How long ago the loop came free again; until it is told. */
  get unblockedMs(): number | null {
    return this.#freedAt === undefined ? null : this.#options.now() - this.#freedAt
  }

  landed(): void {
    this.#freedAt = undefined
  }

  /** Never waits: what takes time goes on beside it, one at a time. */
  tick(): void {
    const { task, now, memory } = this.#options
    noteLook(task.signs, now())
    const stoodMs = this.#watch.stoodMs(now(), task.signs[sign.turnAt]!)
    this.memoryBytes = memory()
    if (stoodMs < standsMs) this.#turns()
    else this.#block ??= { since: now() - stoodMs, told: false, seen: undefined, lookAgainAt: 0, nameAgainAt: 0 }
    if (this.#busy) return
    this.#busy = true
    void this.#examine(stoodMs).finally(() => {
      this.#busy = false
    })
  }

  /** The loop comes round. It has read by now whom its heart named. */
  #turns(): void {
    const block = this.#block
    if (block === undefined) return
    const { task, voice, now, news } = this.#options
    this.#block = undefined
    this.#freedAt = now()
    name(task.signs, undefined)
    if (!block.told) return
    const ms = Math.round(now() - block.since)
    voice.say({ level: 'warn', facts: { ms }, message: 'the main loop is free again' })
    news()
  }

  async #examine(stoodMs: number): Promise<void> {
    if (this.memoryBytes > this.#options.task.memoryBytes) await this.#overMemory(stoodMs)
    else if (this.memoryBytes < this.#options.task.memoryBytes * 0.95) this.#overCap = false
    const block = this.#block
    if (block === undefined) return
    if (stoodMs >= hungAfter && this.#isToTell(block)) await this.#tell(block)
    if (this.#maybeLate(block)) await this.#judge(block)
  }

  /** Not yet told, or told without a name and it may be found by now. */
  #isToTell({ told, seen, nameAgainAt }: Block): boolean {
    return !told || (this.#jobOn(seen) === undefined && this.#options.now() >= nameAgainAt)
  }

  async #tell(block: Block): Promise<void> {
    const { task, voice, look, now, news } = this.#options
    const seen = await look()
    if (this.#block !== block) return
    block.nameAgainAt = now() + unnamedMs
    const job = this.#jobOn(seen)
    // Once is enough to say that nobody can be named.
    if (block.told && job === undefined) return
    block.seen = seen
    block.told = true
    name(task.signs, job)
    news()
    const facts = {
      ...(job === undefined ? { running: task.signs[sign.running] } : { job: job.id, attempt: job.attempt }),
      ms: Math.round(now() - block.since),
      stack: block.seen.stack ?? 'in native code',
    }
    const by = job === undefined ? '' : ` by job ${job.id}`
    voice.say({ level: 'error', facts, message: `the main loop is blocked${by}${topOf(block.seen)}` })
  }

  #maybeLate(block: Block): boolean {
    const { task, now } = this.#options
    // Nobody's time may be running, and one that was given up spins.
    const due = task.signs[sign.dueAt] || task.signs[sign.allDueAt]!
    const mayKill = task.papers !== undefined || task.killWhenHung
    return mayKill && due > 0 && now() >= Math.max(due, block.lookAgainAt)
  }

  /** Some attempt is out of time: only if it is the one on the stack does its time count. */
  async #judge(block: Block): Promise<void> {
    const { look, now } = this.#options
    const seen = await look()
    if (this.#block !== block) return
    const job = this.#jobOn(seen)
    const seconds = ((now() - block.since) / 1000).toFixed(1)
    if (job === undefined && this.#isAnybodyLate(block)) {
      const why = `its main loop has been blocked for ${seconds} s, and all that run are out of time; nobody can be named`
      return this.#die(undefined, seen, 'timeout', why)
    }
    if (job === undefined || job.leftMs > 0) {
      block.lookAgainAt = now() + Math.max(job?.leftMs ?? 0, againMs)
      return
    }
    this.#die(job, seen, 'timeout', `it blocked the main loop for ${seconds} s, past its timeout`)
  }

  #isAnybodyLate(block: Block): boolean {
    const allDue = this.#options.task.signs[sign.allDueAt]!
    return block.told && allDue > 0 && this.#options.now() >= allDue
  }

  async #overMemory(stoodMs: number): Promise<void> {
    if (this.#overCap) return
    this.#overCap = true
    const { task, voice } = this.#options
    const { job, seen } = await this.#hungry(stoodMs)
    const bytes = this.memoryBytes
    const why = `the process has ${megabytes(bytes)} MB, over its cap of ${megabytes(task.memoryBytes)} MB`
    if (task.papers !== undefined) return this.#die(job, seen, 'memory', why)
    const facts = { ...(job && { job: job.id, attempt: job.attempt }), stack: seen.stack, memoryBytes: bytes }
    voice.say({ level: 'error', facts, message: why })
  }

  /** Whoever runs alone or blocks the loop; else who is seen at work each time. */
  async #hungry(stoodMs: number): Promise<{ job: Running | undefined; seen: Seen }> {
    const seen = await this.#options.look()
    const job = this.#jobOn(seen)
    const { look, now, task } = this.#options
    if ((job !== undefined && stoodMs >= standsMs) || task.signs[sign.running]! <= 1) return { job, seen }
    const again = [await look(), await look()]
    // The loop stood still all the while: whoever was seen in it once is it, though it was in native code otherwise.
    if (now() - task.signs[sign.turnAt]! >= standsMs) {
      const found = [seen, ...again].find(each => this.#jobOn(each) !== undefined)
      return { job: this.#jobOn(found), seen: found ?? seen }
    }
    const isSame = again.every(each => job !== undefined && this.#jobOn(each)?.id === job.id)
    return { job: isSame ? job : undefined, seen }
  }

  #die(job: Running | undefined, seen: Seen, how: 'timeout' | 'memory', why: string): void {
    const { task, voice, kill } = this.#options
    if (task.papers !== undefined) {
      if (job === undefined) mark(task.papers, how === 'memory' ? 'memory' : 'hung')
      else nameCulprit(task.papers, { job: job.id, attempt: job.attempt, how, message: why, stack: seen.stack })
    }
    const facts = { ...(job && { job: job.id, attempt: job.attempt }), stack: seen.stack ?? 'in native code' }
    voice.sayLast({ level: 'error', facts, message: `this process ends itself: ${why}` })
    kill()
  }

  /** As the stack tells; in native code, the one that runs alone. */
  #jobOn(seen: Seen | undefined): Running | undefined {
    if (seen === undefined || seen.stack !== null) return seen?.job ?? undefined
    const { task, now } = this.#options
    const { signs } = task
    const id = signs[sign.soleJob]!
    if (id === 0 || signs[sign.running] !== 1) return undefined
    const leftMs = signs[sign.dueAt]! - now()
    return { id: String(id), attempt: signs[sign.soleAttempt]!, kind: '', leftMs }
  }
}

function name(signs: Signs, job: Running | undefined): void {
  signs[sign.blockedJob] = job === undefined ? 0 : Number(job.id)
  signs[sign.blockedAttempt] = job?.attempt ?? 0
}

const topOf = ({ stack }: Seen) => (stack === null ? ', in native code' : `, in ${stack.split(' < ')[0]}`)

const megabytes = (bytes: number) => Math.round(bytes / 1e6)
