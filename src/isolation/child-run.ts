/**
 * Executes a single run in a child: sends the run, serves the child's requests to the database, and determines the end.
 *
 * Invariant: a run ends once, by the child's report or by the child's death, and only after all requests of the child are answered: a write
 * under way at the child's death succeeds or fails before the end of the run, never later. The transaction of a dead child is rolled back.
 */
import { type AttemptStorage, callStorageMethod } from '../execution/model/attempt-storage-calls.ts'
import type { JobQuery, JobTransaction } from '../jobs/model/job-context.ts'
import type { Evidence } from '../jobs/model/outcome.ts'
import { systemClock } from '../lib/clock.ts'
import type { Child, ChildExit } from './child.ts'
import { type Crash, crashOf } from './child-crash.ts'
import type { CallTask, ChildTask, Nature, ToParent } from './child-protocol.ts'
import { originOf, type PackedError, packError, unpackError } from './error-wire.ts'
import type { IsolatedCall } from './model/isolated-call.ts'

/** The services of the parent for a child; results go to the child unchanged. */
export interface ChildHost {
  /** The child has received the run. */
  began(): void
  /** Undefined for an isolated function, which has no context and may call nothing. */
  readonly storage: AttemptStorage | undefined
  /** Runs an isolated function in a child process; returns the result as text. */
  isolate(call: IsolatedCall, signal: AbortSignal): Promise<string>
  log(level: 'debug' | 'info' | 'warn' | 'error', facts: Record<string, unknown>, message: string): void
}

export interface ChildSource {
  take(): Promise<Child>
  release(child: Child): void
  kill(child: Child): Promise<void>
}

/** `end`: the child's report. `deferred`: the child died, and this job did not cause the death. */
export type ChildRunEnd =
  | { end: unknown }
  | { deferred: string }
  | { thrown: unknown; evidence?: Evidence; crash?: Crash['crash'] }

/** `unstarted`: the child died while idle, unnoticed. The run goes to another child. */
type Tried = ChildRunEnd | 'unstarted'
/** The number of further children to try. */
const otherChildren = 3

/** The wait for open requests of a killed child; an unreachable database takes longer. */
const endWithinMs = 300

interface Transaction {
  tx: JobTransaction | undefined
  controller: AbortController
  /** Resolve and reject the work of the child in this transaction. */
  worked: ((text: string) => void) | undefined
  failed: ((error: unknown) => void) | undefined
  /** Errors sent to the child, kept to recognize a returned error. */
  sent: unknown[]
}

export class ChildRun {
  readonly ended: Promise<ChildRunEnd>
  readonly #number: number
  readonly #childTask: ChildTask | CallTask
  readonly #nature: Nature
  readonly #host: ChildHost
  readonly #childSource: ChildSource
  readonly #asked = new Set<Promise<unknown>>()
  readonly #transactions = new Map<number, Transaction>()
  /** Isolated functions called by the handler, in child processes. */
  readonly #calls = new Set<AbortController>()
  #child: Child | undefined
  /** The child's `stolenMs` before this run. */
  #stolenBefore = 0
  #reason: { thrown: unknown } | undefined
  #killed = false
  #over = false

  constructor(
    number: number,
    childTask: ChildTask | CallTask,
    nature: Nature,
    host: ChildHost,
    childSource: ChildSource,
  ) {
    this.#number = number
    this.#childTask = childTask
    this.#nature = nature
    this.#host = host
    this.#childSource = childSource
    this.ended = this.#go()
  }

  /** True once the run was sent to a child, or ended without being sent. */
  get begun(): boolean {
    return this.#child !== undefined || this.#over
  }

  /** Milliseconds in which the child was ready to run and the machine ran other processes. */
  get stolenMs(): number {
    return this.#over ? 0 : Math.max((this.#child?.stolenMs() ?? 0) - this.#stolenBefore, 0)
  }

  /** Aborts the handler's signal with `reason`. An unstarted run never starts. */
  abort(reason: unknown): void {
    if (this.#reason !== undefined || this.#over) return
    this.#reason = { thrown: reason }
    this.#cut(reason)
    this.#child?.send({ type: 'abort', run: this.#number, reason: packError(reason) })
  }

  #cut(reason: unknown): void {
    for (const { controller } of this.#transactions.values()) controller.abort(reason)
    for (const call of this.#calls) call.abort(reason)
  }

  /** Resolves when the child is dead and no request is open, or when the child is given up. No effect after the end of the run. */
  async kill(): Promise<void> {
    if (this.#over) return
    this.#killed = true
    if (this.#child === undefined) return
    await this.#childSource.kill(this.#child)
    await Promise.race([this.ended, systemClock.sleep(endWithinMs)])
  }

  async #go(): Promise<ChildRunEnd> {
    try {
      for (let left = otherChildren; ; left--) {
        const ended = await this.#in(await this.#childSource.take())
        if (ended !== 'unstarted') return ended
        if (left === 0 || this.#reason !== undefined) return { deferred: 'its child was dead before it had begun' }
        this.#child = undefined
      }
    } catch (thrown) {
      return { thrown }
    } finally {
      this.#over = true
    }
  }

  async #in(child: Child): Promise<Tried> {
    if (this.#reason !== undefined || this.#killed) {
      this.#childSource.release(child)
      return { thrown: this.#reason?.thrown }
    }
    this.#child = child
    this.#stolenBefore = child.stolenMs()
    const word = new Promise<{ ended: Tried; leaves: 'kept' | 'spent' }>(resolve =>
      child.onMessage(message => {
        // A reused child may still send messages of an earlier run.
        if (!('run' in message) || message.run !== this.#number) return
        if (message.type === 'ended')
          resolve({ ended: { end: message.end }, leaves: isSpent(message, this.#nature) ? 'spent' : 'kept' })
        else if (message.type === 'unusable')
          resolve({ ended: { thrown: unpackError(message.error) }, leaves: 'spent' })
        else this.#receive(message)
      }),
    )
    this.#host.began()
    child.send({ type: 'run', run: this.#number, childTask: this.#childTask })
    const died = child.died.then(remains => ({ ended: this.#judge(remains), leaves: 'dead' as const }))
    const { ended, leaves } = await Promise.race([word, died])
    this.#cut(new Error('the child is gone'))
    await Promise.allSettled(this.#asked)
    if (leaves === 'dead') return ended
    // A module that failed to load may load in a new child; and leftover memory of this job must not break the next job.
    if (leaves === 'spent' || this.#killed) void this.#childSource.kill(child)
    else this.#childSource.release(child)
    return ended
  }

  #judge(remains: ChildExit): Tried {
    const { words, begun } = remains
    if (words?.how === 'parent') return { deferred: 'its parent was stopped for too long' }
    if (begun !== undefined && begun !== this.#number && !this.#killed) return 'unstarted'
    const isAnothers =
      (words?.how === 'uncaught' || words?.how === 'exit') && words.run !== undefined && words.run !== this.#number
    if (isAnothers) return { deferred: 'what an earlier job had left behind in its child ended it' }
    return crashOf(remains, this.#nature, this.#killed)
  }

  #receive(message: Exclude<ToParent, { type: 'ready' | 'ended' | 'unusable' | 'words' }>): void {
    if (message.type === 'log') this.#host.log(message.level, message.facts, message.message)
    else if (message.type === 'call') void this.#call(message.call, message.method, message.args)
    else this.#passToTransaction(message)
  }

  /** Passes the result or the abort of a transaction's work on to the transaction. */
  #passToTransaction(message: Extract<ToParent, { type: 'worked' | 'cut' }>): void {
    const open = this.#transactions.get(message.tx)
    if (message.type === 'cut') open?.controller.abort(unpackError(message.reason))
    else if (message.error === undefined) open?.worked?.(message.text!)
    else open?.failed?.(known(open, message.error))
  }

  async #call(call: number, method: string, args: readonly unknown[]): Promise<void> {
    const work = this.#do(method, args)
    this.#asked.add(work)
    const answer = await work.then(
      value => ({ value }),
      thrown => ({ error: packError(thrown, method === 'query' ? this.#remember(args?.[0], thrown) : undefined) }),
    )
    this.#asked.delete(work)
    const head = { type: 'answer', run: this.#number, call } as const
    try {
      this.#child?.send({ ...head, ...answer })
    } catch (thrown) {
      // A row may hold a value that cannot be sent.
      this.#child?.send({ ...head, error: packError(thrown) })
    }
  }

  /** Never throws: a call that does not fit is an error of the child. */
  async #do(method: string, args: readonly unknown[]): Promise<unknown> {
    const { storage } = this.#host
    if (storage === undefined) throw new TypeError('an isolated function has no context')
    const [first, second] = args
    if (method === 'transact' && typeof first === 'string' && typeof second === 'number')
      return this.#transact(storage, first, second)
    if (method === 'query' && typeof first === 'number' && isObject(second))
      return this.#query(first, second as JobQuery)
    if (method === 'isolate' && isObject(first)) return this.#isolate(first as IsolatedCall)
    return callStorageMethod(storage, method, args)
  }

  async #transact(storage: AttemptStorage, name: string, number: number): Promise<unknown> {
    const controller = new AbortController()
    const open: Transaction = { tx: undefined, controller, worked: undefined, failed: undefined, sent: [] }
    this.#transactions.set(number, open)
    if (this.#reason !== undefined) controller.abort(this.#reason.thrown)
    // `work` may be called again if the connection is lost during a call.
    const work = (tx: JobTransaction) =>
      new Promise<string>((resolve, reject) => {
        Object.assign(open, { tx, worked: resolve, failed: reject })
        this.#child?.send({ type: 'work', run: this.#number, tx: number })
      })
    try {
      return await storage.transact(name, work, controller.signal)
    } finally {
      this.#transactions.delete(number)
    }
  }

  async #isolate(call: IsolatedCall): Promise<string> {
    const controller = new AbortController()
    if (this.#reason !== undefined) controller.abort(this.#reason.thrown)
    this.#calls.add(controller)
    try {
      return await this.#host.isolate(call, controller.signal)
    } finally {
      this.#calls.delete(controller)
    }
  }

  async #query(number: number, query: Omit<JobQuery, 'types'>): Promise<unknown> {
    const open = this.#transactions.get(number)
    if (open?.tx === undefined) throw new Error('this transaction is over')
    return open.tx.query(query)
  }

  #remember(number: unknown, thrown: unknown): number | undefined {
    const sent = this.#transactions.get(number as number)?.sent
    return sent === undefined ? undefined : sent.push(thrown) - 1
  }
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isSpent = ({ grown, spent = false }: { grown: number; spent?: boolean }, { memoryBytes }: Nature) =>
  spent || (memoryBytes !== null && grown > memoryBytes / 4)

/** Returns the original error if the child returned one of ours: PostgreSQL's error decides the end of the transaction. */
function known(open: Transaction, packed: PackedError): unknown {
  const origin = originOf(packed)
  return origin !== undefined && origin in open.sent ? open.sent[origin] : unpackError(packed)
}
