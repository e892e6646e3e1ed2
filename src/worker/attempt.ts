/**
 * One attempt, from claimed row to outcome. It touches no database: what it keeps on its way goes through its keeper, and
 * what `run` resolves to is settled by the worker.
 *
 * Invariant: it always ends. A handler that ignores its signal is left behind after a grace; whatever it does later
 * reaches nothing, because the outcome has been decided and the fence moves with it. Its place is free again when it has
 * ended, or has not within ten seconds of its signal: then it is abandoned.
 *
 * Most jobs look at neither their signal nor their log: both are made when they are asked for.
 */
import { milliseconds } from '../core/duration.ts'
import type { IsolatedCall } from '../core/isolated.ts'
import type { AnyJob } from '../core/job.ts'
import { doNotRetry, type Ended, Snooze } from '../core/outcome.ts'
import type { Policy } from '../core/policy.ts'
import type { ProviderStand, ProviderWord } from '../core/provider.ts'
import { decodeValue } from '../core/value.ts'
import { isRetomaError, RetomaError } from '../errors.ts'
import { handlerOf, isolationOf } from '../isolation/able.ts'
import type { Isolate } from '../isolation/calls.ts'
import type { Children } from '../isolation/children.ts'
import type { Run } from '../isolation/run.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { Span } from '../lib/trace.ts'
import type { Claimed } from '../store/claim.ts'
import { nameOf } from '../store/heartbeat.ts'
import { AttemptClock, type Awake } from './attempt-clock.ts'
import { type Away, sendAway } from './away.ts'
import { Context } from './context.ts'
import { runAs } from './current.ts'
import { type AttemptEnd, endOf } from './ending.ts'
import type { Landed } from './group-commit.ts'
import { type Keeper, Kept } from './kept.ts'
import { Patience } from './patience.ts'
import { closeSpan, spanOf } from './span.ts'
import type { Transacted } from './transact.ts'

export interface AttemptOptions {
  /** The worker's. */
  id: string
  clock: Clock
  log: Log
  random: Random
  /** How long after its signal a handler may still end by itself. */
  graceMs: number
  keeper: Keeper
  /** Asked before anything is out of time: has the loop stood still? */
  isTime: () => void
  /** Its clock goes on. */
  resumed: (attempt: Attempt) => void
  /** A handler was given up, or one that was has ended after all. */
  abandoned: (more: 1 | -1) => void
  /** Where handlers run that do not run here; undefined: in a child itself. */
  children?: Children
  /** Functions in a process of their own: run by this worker, or asked of a child's parent. */
  isolate: Isolate
  /** The most memory the worker's process may have. */
  memoryBytes?: number | undefined
}

/** Less is not worth another look. */
const leastStolenMs = 100

export class Attempt {
  readonly claimed: Claimed
  /** Names it among all that a worker holds. */
  readonly name: string
  readonly job: AnyJob
  /** Its kind's, and what its batch asks for in place of some of it. */
  readonly policy: Policy
  /** When it was claimed, in this process's milliseconds. */
  readonly claimedAt: number
  readonly time: AttemptClock
  /** Its handler is out of the way: it has ended, or sleeps until the next attempt. */
  #handled = false
  #abandoned = false
  #followed = false
  #cleared: (() => void) | undefined
  readonly #options: AttemptOptions
  #controller: AbortController | undefined
  #reason: Error | undefined
  #leave: ((ended: Ended | Away) => void) | undefined
  #ended = false
  #patience: Patience | undefined
  #kept: Kept | undefined
  /** Its handler, where that runs in a thread or a process. */
  #away: Run | undefined
  /** What of the away handler's time was other processes', as far as it was counted. */
  #stolenMs = 0
  /** Functions of it that run in processes of their own. */
  #calling = 0
  /** Providers that have stopped, and that it was let through to. */
  #probes: Set<string> | undefined
  /** Undefined: nobody traces. */
  #span: Span | undefined

  constructor(claimed: Claimed, job: AnyJob, options: AttemptOptions) {
    this.claimed = claimed
    this.name = nameOf(claimed)
    this.job = job
    this.policy = claimed.override ? { ...job.policy, ...claimed.override } : job.policy
    this.#options = options
    this.claimedAt = options.clock.elapsed()
    this.time = new AttemptClock(options.clock, () => options.resumed(this))
  }

  get started(): boolean {
    return this.#leave !== undefined
  }

  get running(): boolean {
    return this.started && !this.#ended
  }

  /** Known to whoever asks after its first await, too (current.ts). */
  get followed(): boolean {
    return this.#followed
  }

  /** The outcome is decided, and the handler goes on. */
  get isLeftBehind(): boolean {
    return this.#ended && !this.#handled
  }

  /** Of one that is left behind: when its handler has ended after all, or is abandoned. */
  cleared(): Promise<void> {
    return new Promise(resolve => {
      this.#cleared = resolve
      // Given up while its child was being killed.
      if (this.#abandoned || this.#handled) resolve()
    })
  }

  /** Nobody looks after what is left behind any more. */
  forget(): void {
    this.#patience?.end()
  }

  /** Its handler runs in a thread or a process. */
  get isAway(): boolean {
    return this.#away !== undefined && !this.#ended
  }

  /** Its handler, if that runs in a thread or a process, is dead after so many milliseconds, whatever its grace. */
  async killChild(afterMs: number): Promise<void> {
    if (this.#away === undefined) return
    await this.#options.clock.sleep(afterMs)
    await this.#away.kill()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /**
   * The first reason counts, and none after the end: what a handler has done is not taken back by its signal. From here on
   * the handler has its grace, and then is left behind; a child is killed. `forGood`: the worker stops, and needs its place
   * no more.
   */
  abort(reason: Error, forGood = isRetomaError(reason, 'worker_stopping')): void {
    if (this.#reason !== undefined || this.#ended) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#away?.abort(reason)
    this.#patience = new Patience({
      ...this.#options,
      stopping: forGood,
      leave: () => void this.#leaveBehind(reason),
      abandon: () => this.#abandon(),
    })
  }

  /** Its handler does not end: one in a child is killed first. */
  async #leaveBehind(reason: Error): Promise<void> {
    await this.#away?.kill()
    this.#leave?.({ thrown: reason })
  }

  #abandon(): void {
    this.#abandoned = true
    this.#options.abandoned(1)
    this.#cleared?.()
  }

  /** The handler has ended, and what it had begun, however late. */
  #handlerEnded(): void {
    if (this.#handled) return
    this.#handled = true
    this.#patience?.end()
    if (this.#abandoned) this.#options.abandoned(-1)
    this.#cleared?.()
  }

  timeOut(): void {
    // Its time begins with its handler, however long a child takes to start.
    if (this.#away?.begun === false) return void this.allow()
    // Nor is what other processes took of the machine its time.
    const stolen = (this.#away?.stolenMs ?? 0) - this.#stolenMs
    if (stolen >= leastStolenMs) {
      this.#stolenMs += stolen
      return void this.time.stolen(stolen)
    }
    const { id, attempt } = this.claimed
    this.abort(new RetomaError('attempt_timeout', { attempt, job: id, seconds: this.policy.timeout / 1000 }))
  }

  /** It has its whole time from now on. */
  allow(): void {
    this.time.begin(this.policy.timeout)
  }

  /** Its time must have begun (`allow`). */
  run(follow: boolean): Promise<AttemptEnd> {
    this.#followed = follow
    return new Promise(resolve => {
      this.#leave = ended => {
        if (this.#ended) return
        this.#ended = true
        const { claimed, policy } = this
        const [asked] = this.#probes ?? []
        const probed = asked ?? claimed.tries_for ?? undefined
        const about = { claimed, policy, probed, reason: this.#reason, random: this.#options.random }
        const end = 'end' in ended ? ended.end : endOf(ended, about)
        resolve(end)
        if (this.#span !== undefined) closeSpan(this.#span, end, ended)
      }
      this.#span = spanOf(this.claimed)
      void (this.#span === undefined ? this.#handle() : this.#span.run(() => this.#handle()))
    })
  }

  /** What its handler's own spans are part of, wherever that runs. */
  get trace(): string | null {
    return this.#span?.traceparent ?? this.claimed.trace
  }

  /** Throws bad_value for one that a newer version has written. */
  get #input(): unknown {
    const { input, input_marked: isMarked } = this.claimed
    return isMarked ? decodeValue(input) : input
  }

  /** The handler, and after it whatever it has begun to write. */
  async #handle(): Promise<void> {
    let ended: Ended | Away
    try {
      const parsing = runAs(this.claimed, false, () => this.job.parse(this.#input))
      const parsed = parsing instanceof Promise ? await parsing : parsing
      ended =
        'problem' in parsed
          ? { thrown: doNotRetry(new RetomaError('bad_input', { kind: this.job.kind, problem: parsed.problem })) }
          : await this.#work(parsed.value)
    } catch (thrown) {
      ended = { thrown }
    }
    // Most keep nothing on their way.
    if (this.#kept?.isUsed && !('end' in ended))
      ended = await this.#closed(this.#kept, ended).catch(thrown => ({ thrown }))
    this.#handlerEnded()
    this.#leave!(ended)
  }

  async #work(input: unknown): Promise<Ended | Away> {
    const { job, claimed } = this
    const { children, log } = this.#options
    const isolation = children === undefined ? 'inline' : isolationOf(job, claimed.care)
    if (isolation === 'inline') {
      const run = job.run ?? (await handlerOf(job))
      return {
        returned: await runAs(claimed, this.#followed, () => run(new Context(this, log), input as never)),
      }
    }
    // Told meanwhile: it need not begin.
    if (this.#reason !== undefined) return { thrown: this.#reason }
    const away = sendAway(this, isolation, input, { ...this.#options, children: children!, now: this.host().now() })
    this.#away = away.run
    return away.ended
  }

  async #closed(kept: Kept, ended: Ended): Promise<Ended> {
    const left = await kept.close()
    if ('thrown' in ended) return ended
    if (left.length > 0) return { thrown: new RetomaError('step_not_awaited', { steps: left.join(', ') }) }
    await kept.tellUnused(this.#options.log)
    return ended
  }

  /** Says it to the engine, and remembers whom it was let through to and has not heard of. */
  readonly tellProvider = async (name: string, word: ProviderWord): Promise<ProviderStand> => {
    const { keeper } = this.#options
    if (word.how !== 'ask' && word.how !== 'silent') this.#probes?.delete(name)
    const stand = await this.time.waiting(() => keeper.provider(this.claimed, name, word, this.signal))
    if (stand.how === 'open' && stand.probe) {
      this.#probes ??= new Set()
      this.#probes.add(name)
    }
    return stand
  }

  /** Who finds the lease lost tells the handler. */
  readonly told = async <Answer extends Landed | Transacted>(
    ask: (awake: Awake) => Promise<Answer>,
  ): Promise<Answer> => {
    const { id, attempt } = this.claimed
    const answer = await this.time.waiting(ask)
    const how = typeof answer === 'string' ? answer : answer.how
    if (how === 'lost') this.abort(new RetomaError('lease_lost', { attempt, job: id, worker: this.#options.id }))
    return answer
  }

  /** Its time stands still until the function has a child; a clock that a test moves, until it has ended. */
  readonly isolate = (call: IsolatedCall, signal: AbortSignal): Promise<string> => {
    const { isolate, clock } = this.#options
    const { id, kind, attempt } = this.claimed
    const log = this.#options.log.child({ job: id, kind, attempt })
    const parentStoppedMs = this.job.policy.orphanAfter / 2
    const work = this.time.waiting(awake => isolate(call, { ...this.#caller, signal, awake, log, parentStoppedMs }))
    return clock.during?.(work) ?? work
  }

  readonly #caller = {
    // Not while another function of it runs, whose work would be lost; nor on a clock that a test moves, which would not come to its delay.
    mayGoBack: () => this.#calling === 0 && this.#options.clock.during === undefined,
    holds: (more: 1 | -1) => {
      this.#calling += more
    },
    stole: (ms: number) => this.time.stolen(ms),
  }

  /** No child process is free for a function of it: its handler ends, and whatever that makes of it the job waits again. */
  readonly goBack = (noChild: Error): void => this.abort(noChild, false)

  /** What the context asks for when the handler keeps something. */
  host(): Kept {
    this.#kept ??= new Kept(this, { ...this.#options, rest: ms => void this.#rest(ms), goBack: this.goBack })
    return this.#kept
  }

  async #rest(ms: number): Promise<void> {
    await this.#kept?.close()
    this.#handlerEnded()
    this.#leave?.({ returned: new Snooze(milliseconds(ms)) })
  }
}
