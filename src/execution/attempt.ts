/**
 * Runs the handler of an attempt and decides the outcome. The attempt uses no database directly: writes go through the attempt's storage,
 * and the attempt runner (worker/attempt-runner.ts) writes the outcome.
 *
 * Invariant: an attempt always ends. A handler that ignores its signal loses its attempt after the stop grace; later writes of the handler
 * reach nothing, because the outcome is decided and the fence moves with the outcome. The slot is free again when the handler has ended, or
 * 10 s after the signal: then the handler is abandoned.
 *
 * Most jobs use neither signal nor log, so both are built on first use.
 */

import { setMaxListeners } from 'node:events'
import type { ClaimedJob } from '../claiming/sql/claim.ts'
import { isRetomaError, RetomaError } from '../errors/errors.ts'
import type { ChildPool } from '../isolation/child-pool.ts'
import type { ChildRun } from '../isolation/child-run.ts'
import type { Isolator } from '../isolation/isolated-calls.ts'
import type { IsolationMode } from '../isolation/isolation-mode.ts'
import type { IsolatedCall } from '../isolation/model/isolated-call.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import { doNotRetry, type Ended, Snooze } from '../jobs/model/outcome.ts'
import type { JobPolicy } from '../jobs/model/policy.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/logging/log.ts'
import type { Random } from '../lib/random.ts'
import type { Span } from '../lib/trace.ts'
import { milliseconds } from '../lib/values/duration.ts'
import { decodeValue } from '../lib/values/value-codec.ts'
import type { ProviderPermission, ProviderWord } from '../providers/model/provider.ts'
import { nameOf } from '../worker/sql/lease-heartbeat.ts'
import { AttemptClock, type Awake } from './attempt-clock.ts'
import { AttemptLog, type AttemptLogs } from './attempt-log.ts'
import { type AttemptEnd, outcomeOf } from './attempt-outcome.ts'
import { closeSpan, spanOf } from './attempt-span.ts'
import type { CurrentJobTracker } from './current-job.ts'
import { Context } from './handler-context.ts'
import { HandlerServices } from './handler-services.ts'
import { type IsolatedAttempt, runIsolated } from './isolated-attempt.ts'
import type { AttemptStorage, StepTransactionResult } from './model/attempt-storage-calls.ts'
import type { WriteResult } from './model/write-result.ts'
import type { NestedCallCheck } from './nested-call-check.ts'
import { StopGrace } from './stop-grace.ts'
import { timedStorage } from './timed-storage.ts'

export interface AttemptOptions {
  /** The worker id. */
  id: string
  clock: Clock
  log: Log
  random: Random
  /** The stop grace: the time a handler has to end after its signal aborts. */
  graceMs: number
  storages: AttemptStorages
  /** Keeps the log lines of handlers; undefined in a child, whose lines the parent keeps, or if lines are not kept. */
  logs?: AttemptLogs | undefined
  isolationMode: IsolationMode
  currentJob: CurrentJobTracker
  nestedCalls: NestedCallCheck
  host: AttemptHost
  /** The children for isolated attempts; undefined inside a child. */
  childPool?: ChildPool
  isolator: Isolator
  /** The memory limit of the worker process. */
  memoryBytes?: number | undefined
}

/** Gives an attempt its storage; called once, when the attempt first needs the storage. */
export interface AttemptStorages {
  of(attempt: { readonly claimed: ClaimedJob; readonly signal: AbortSignal }): AttemptStorage
}

/** The worker, as an attempt reports to the worker: AttemptRunner implements the interface, and so does a child. */
export interface AttemptHost {
  /** Called before attempts time out, to find out whether the loop was blocked. */
  checkLoop(): void
  /** The time of the attempt runs again: the deadline has changed. */
  resumed(attempt: Attempt): void
  /** A handler was abandoned (1), or an abandoned handler has ended (-1). */
  abandoned(more: 1 | -1): void
}

/** Smaller values do not justify another check. */
const leastStolenMs = 100

export class Attempt {
  readonly claimed: ClaimedJob
  /** Identifies the attempt among all attempts of a worker. */
  readonly name: string
  readonly job: AnyJob
  /** The policy of the kind with the policy override of the job or of its batch. */
  readonly policy: JobPolicy
  /** The instant of the claim, in milliseconds of this process. */
  readonly claimedAt: number
  readonly time: AttemptClock
  /** The handler no longer occupies the slot: the handler has ended, or sleeps until the next attempt. */
  #handled = false
  #abandoned = false
  #tracked = false
  #cleared: (() => void) | undefined
  readonly #options: AttemptOptions
  #controller: AbortController | undefined
  #reason: Error | undefined
  #leave: ((ended: Ended | IsolatedAttempt) => void) | undefined
  #ended = false
  #stopGrace: StopGrace | undefined
  #services: HandlerServices | undefined
  #storage: AttemptStorage | undefined
  #lines: AttemptLog | undefined
  /** The run in a thread or process, for an isolated attempt. */
  #away: ChildRun | undefined
  /** The part of `stolenMs` of the isolated run that is already discounted. */
  #stolenMs = 0
  /** The number of isolated functions under way. */
  #calling = 0
  /** Stopped providers that this attempt probes. */
  #probes: Set<string> | undefined
  /** Undefined: tracing is off. */
  #span: Span | undefined

  constructor(claimed: ClaimedJob, job: AnyJob, options: AttemptOptions) {
    this.claimed = claimed
    this.name = nameOf(claimed)
    this.job = job
    this.policy = claimed.override ? { ...job.policy, ...claimed.override } : job.policy
    this.#options = options
    this.claimedAt = options.clock.elapsed()
    this.time = new AttemptClock(options.clock, () => options.host.resumed(this))
  }

  /** Estimates the database clock without a query, in milliseconds. */
  get databaseNow(): number {
    return this.claimed.started_ms + this.#options.clock.elapsed() - this.claimedAt
  }

  /** The kept log lines; undefined: none yet. */
  get lines(): AttemptLog | undefined {
    return this.#lines
  }

  /** Writes a line of the handler to a log of the worker, and keeps the line for people. */
  writeLine(
    log: Log,
    level: 'debug' | 'info' | 'warn' | 'error',
    facts: Record<string, unknown>,
    message: string,
  ): void {
    log[level](facts, message)
    const { logs } = this.#options
    if (logs === undefined || level === 'debug') return
    this.#lines ??= new AttemptLog(this.claimed, () => this.databaseNow, logs)
    this.#lines.add(level, facts, message)
  }

  get started(): boolean {
    return this.#leave !== undefined
  }

  get running(): boolean {
    return this.started && !this.#ended
  }

  /** True if the current job tracker knows the handler after the first `await` too. */
  get tracked(): boolean {
    return this.#tracked
  }

  /** The outcome is decided, and the handler still runs. */
  get isOverrunning(): boolean {
    return this.#ended && !this.#handled
  }

  /** Resolves when the handler of an ended attempt has ended or is abandoned. */
  cleared(): Promise<void> {
    return new Promise(resolve => {
      this.#cleared = resolve
      // The handler was abandoned while its child was being killed.
      if (this.#abandoned || this.#handled) resolve()
    })
  }

  /** Stops watching the handler of an ended attempt. */
  forget(): void {
    this.#stopGrace?.end()
  }

  /** The handler runs in a thread or a process. */
  get isAway(): boolean {
    return this.#away !== undefined && !this.#ended
  }

  /** Kills the child of an isolated attempt after `afterMs`, regardless of the stop grace. */
  async killChild(afterMs: number): Promise<void> {
    if (this.#away === undefined) return
    await this.#options.clock.sleep(afterMs)
    await this.#away.kill()
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      setMaxListeners(0, this.#controller.signal) // a handler may listen once in each of a thousand steps
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /**
   * Aborts the attempt. Only the first reason counts, and none after the end: the signal does not undo the work of a handler. From here on
   * the stop grace runs; then the attempt ends without the handler, and a child is killed. `forGood`: the worker stops and needs the slot
   * no more.
   */
  abort(reason: Error, forGood = isRetomaError(reason, 'worker_stopping')): void {
    if (this.#reason !== undefined || this.#ended) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#away?.abort(reason)
    this.#stopGrace = new StopGrace({
      ...this.#options,
      stopping: forGood,
      leave: () => void this.#leaveBehind(reason),
      abandon: () => this.#abandon(),
    })
  }

  /** Ends the attempt although the handler still runs; kills a child first. */
  async #leaveBehind(reason: Error): Promise<void> {
    await this.#away?.kill()
    this.#leave?.({ thrown: reason })
  }

  #abandon(): void {
    this.#abandoned = true
    this.#options.host.abandoned(1)
    this.#cleared?.()
  }

  /** The handler and everything it began have ended, however late. */
  #handlerEnded(): void {
    if (this.#handled) return
    this.#handled = true
    this.#stopGrace?.end()
    if (this.#abandoned) this.#options.host.abandoned(-1)
    this.#cleared?.()
  }

  timeOut(): void {
    // The time begins with the handler, however long the start of a child takes.
    if (this.#away?.begun === false) return void this.allow()
    // Time that the machine gave to other processes does not count.
    const stolen = (this.#away?.stolenMs ?? 0) - this.#stolenMs
    if (stolen >= leastStolenMs) {
      this.#stolenMs += stolen
      return void this.time.stolen(stolen)
    }
    const { id, attempt } = this.claimed
    this.abort(new RetomaError('attempt_timeout', { attempt, job: id, seconds: this.policy.timeout / 1000 }))
  }

  /** Restarts the full timeout from now on. */
  allow(): void {
    this.time.begin(this.policy.timeout)
  }

  /**
   * Runs the handler. Resolves when the handler has ended, or when the attempt ends without the handler; `judge` then decides the outcome.
   * Never rejects. `allow` must have been called before.
   */
  run(trackAsync: boolean): Promise<Ended | IsolatedAttempt> {
    this.#tracked = trackAsync
    return new Promise(resolve => {
      this.#leave = ended => {
        if (this.#ended) return
        this.#ended = true
        resolve(ended)
      }
      this.#span = spanOf(this.claimed)
      void (this.#span === undefined ? this.#handle() : this.#span.run(() => this.#handle()))
    })
  }

  /** Decides the outcome after `run`. Never throws. The outcome of an isolated attempt was decided by the child. */
  judge(ended: Ended | IsolatedAttempt): AttemptEnd {
    const { claimed, policy } = this
    const [asked] = this.#probes ?? []
    const probed = asked ?? claimed.tries_for ?? undefined
    const about = { claimed, policy, probed, reason: this.#reason, random: this.#options.random }
    const end = 'end' in ended ? ended.end : outcomeOf(ended, about)
    if (this.#span !== undefined) closeSpan(this.#span, end, ended)
    return end
  }

  get nestedCalls(): NestedCallCheck {
    return this.#options.nestedCalls
  }

  /** The parent of the handler's own spans, in any process. */
  get trace(): string | null {
    return this.#span?.traceparent ?? this.claimed.trace
  }

  /** Throws `bad_value` for an input written by a newer version. */
  get #input(): unknown {
    const { input, input_marked: isMarked } = this.claimed
    return isMarked ? decodeValue(input) : input
  }

  /** Runs the handler, then waits for the writes the handler began. */
  async #handle(): Promise<void> {
    let ended: Ended | IsolatedAttempt
    try {
      const parsing = this.#options.currentJob.run(this.claimed, false, () => this.job.parse(this.#input))
      const parsed = parsing instanceof Promise ? await parsing : parsing
      ended =
        'problem' in parsed
          ? { thrown: doNotRetry(new RetomaError('bad_input', { kind: this.job.kind, problem: parsed.problem })) }
          : await this.#work(parsed.value)
    } catch (thrown) {
      ended = { thrown }
    }
    // Most attempts use no steps and no progress.
    if (this.#services?.isUsed && !('end' in ended))
      ended = await this.#closed(this.#services, ended).catch(thrown => ({ thrown }))
    this.#handlerEnded()
    this.#leave!(ended)
  }

  async #work(input: unknown): Promise<Ended | IsolatedAttempt> {
    const { job, claimed } = this
    const { childPool, isolationMode, currentJob, log } = this.#options
    const isolation = childPool === undefined ? 'inline' : isolationMode.isolationOf(job, claimed.crash_suspicion)
    if (isolation === 'inline') {
      const run = job.run ?? (await isolationMode.handlerOf(job))
      return {
        returned: await currentJob.run(claimed, this.#tracked, () => run(new Context(this, log), input as never)),
      }
    }
    // The signal aborted meanwhile: the handler need not begin.
    if (this.#reason !== undefined) return { thrown: this.#reason }
    const away = runIsolated(this, isolation, input, {
      ...this.#options,
      childPool: childPool!,
      now: this.host().now(),
    })
    this.#away = away.run
    return away.ended
  }

  async #closed(services: HandlerServices, ended: Ended): Promise<Ended> {
    const left = await services.close()
    if ('thrown' in ended) return ended
    if (left.length > 0) return { thrown: new RetomaError('step_not_awaited', { steps: left.join(', ') }) }
    await services.tellUnused(this.#options.log)
    return ended
  }

  /** The storage for the handler, here or in a child. Pauses the time of the attempt during each wait. */
  get storage(): AttemptStorage {
    this.#storage ??= timedStorage(this, this.#options.storages.of(this))
    return this.#storage
  }

  /** Reports to the provider's row, and remembers the stopped providers that this attempt probes and that have not answered. */
  async tellProvider(name: string, word: ProviderWord, storage: AttemptStorage): Promise<ProviderPermission> {
    if (word.how !== 'ask' && word.how !== 'silent') this.#probes?.delete(name)
    const stand = await this.time.waiting(() => storage.provider(name, word))
    if (stand.how === 'open' && stand.probe) {
      this.#probes ??= new Set()
      this.#probes.add(name)
    }
    return stand
  }

  /** Aborts the handler's signal if the write finds the lease lost. */
  async written<Answer extends WriteResult | StepTransactionResult>(
    write: (awake: Awake) => Promise<Answer>,
  ): Promise<Answer> {
    const { id, attempt } = this.claimed
    const answer = await this.time.waiting(write)
    const how = typeof answer === 'string' ? answer : answer.how
    if (how === 'lease_lost') this.abort(new RetomaError('lease_lost', { attempt, job: id, worker: this.#options.id }))
    return answer
  }

  /** The time pauses until the function has a child; with the virtual clock, until the function has ended. */
  readonly isolate = (call: IsolatedCall, signal: AbortSignal): Promise<string> => {
    const { isolator, clock } = this.#options
    const { id, kind, attempt } = this.claimed
    const log = this.#options.log.child({ job: id, kind, attempt })
    const parentStoppedMs = this.job.policy.orphanAfter / 2
    const work = this.time.waiting(awake =>
      isolator.isolate(call, {
        ...this.#caller,
        signal,
        awake,
        log: (level, facts, message) => this.writeLine(log, level, facts, message),
        parentStoppedMs,
      }),
    )
    return clock.during?.(work) ?? work
  }

  readonly #caller = {
    // No deferral while another isolated function of the attempt runs, because its work would be lost; nor with the virtual clock, which
    // would not reach the end of the deferral.
    mayGoBack: () => this.#calling === 0 && this.#options.clock.during === undefined,
    holds: (more: 1 | -1) => {
      this.#calling += more
    },
    stole: (ms: number) => this.time.stolen(ms),
  }

  /** No child process is free for a function: aborts the handler, and the job waits again whatever the handler returns. */
  readonly goBack = (noChild: Error): void => this.abort(noChild, false)

  /** Builds the services of the context on first use. */
  host(): HandlerServices {
    this.#services ??= new HandlerServices(this, {
      ...this.#options,
      rest: ms => void this.#rest(ms),
      goBack: this.goBack,
    })
    return this.#services
  }

  async #rest(ms: number): Promise<void> {
    await this.#services?.close()
    this.#handlerEnded()
    this.#leave?.({ returned: new Snooze(milliseconds(ms)) })
  }
}
