/**
 * Controls the heartbeat thread from the main thread: starts the thread, receives its messages, ends the thread.
 *
 * Invariant: the thread never keeps a process alive and never ends a process without a supervisor. If the thread cannot start or cannot
 * write heartbeats, `isBeating` is false, and the main loop writes the heartbeats.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { type ConnectionTarget, passwordOf, threadConnectionOf } from '../database/connection-target.ts'
import { heartbeatEvery } from '../jobs/model/policy.ts'
import { sharedElapsed } from '../lib/clock.ts'
import { type Log, styleOf } from '../lib/logging/log.ts'
import { builtModule } from '../lib/package-root.ts'
import { withDeadline } from '../lib/with-deadline.ts'
import { newSharedState, type SharedState, slot } from './shared-state.ts'
import type { FromHeartbeatThread, HeartbeatThreadData, ToHeartbeatThread } from './thread-messages.ts'

export interface HeartbeatThreadOptions {
  /** The database, past any pooler. */
  target: ConnectionTarget
  /** The schema of the engine. */
  schema: string
  log: Log
  queues: readonly string[]
  killWhenHung: boolean
  memoryBytes: number
  silentMs: number
  /** The folder of the files for the crash report of this process; undefined: no supervisor. */
  reportFolder: string | undefined
  /** The worker `id` was declared dead. */
  dead: (id: string) => void
  /** The thread could not write a heartbeat for `silentMs`. */
  silent: () => void
}

/** The maximum age of the last heartbeat before the main loop takes over. */
const lateMs = heartbeatEvery * 1.5
const endMs = 2000
/** Limits of the thread's own heap, which holds little more than a connection. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }

export class HeartbeatThread {
  readonly sharedState: SharedState
  /** False: the thread has no connection; it only watches the main loop and the memory. */
  readonly canBeat: boolean
  #thread: Worker | undefined

  constructor(options: HeartbeatThreadOptions) {
    const { target, schema, queues, killWhenHung, memoryBytes, silentMs, reportFolder, log, dead, silent } = options
    this.sharedState = newSharedState(queues.length)
    this.sharedState[slot.turnAt] = sharedElapsed()
    this.sharedState[slot.heartbeatAt] = sharedElapsed()
    const connection = threadConnectionOf(target)
    this.canBeat = connection !== undefined
    if (!this.canBeat)
      log.info(
        {},
        'the configuration of the connection has functions, which no thread can use: the main loop of this worker writes the heartbeats',
      )
    const task: HeartbeatThreadData = {
      connection,
      schema,
      sharedState: this.sharedState,
      queues,
      reportFolder,
      killWhenHung,
      memoryBytes,
      silentMs,
      style: styleOf(log),
      canReadStack: isMainThread,
    }
    const lost = (error?: unknown) => {
      if (this.#thread === undefined) return
      this.#thread = undefined
      log.warn({ err: error }, 'the heartbeat thread ended; the main loop writes the heartbeats')
    }
    try {
      this.#thread = startThread(task)
    } catch (error) {
      // A bundler that joined our files into a single file has lost the file of the thread.
      log.warn({ err: error }, 'the heartbeat thread cannot start; the main loop writes the heartbeats')
      return
    }
    const thread = this.#thread
    thread.on('message', (message: FromHeartbeatThread) => {
      if ('dead' in message) dead(message.dead)
      else if ('silent' in message) silent()
      else if ('asksPassword' in message) void this.#sendPassword(target, log)
      else log[message.line.level](message.line.facts, message.line.message)
    })
    thread.on('error', lost)
    thread.on('exit', () => lost())
    thread.unref()
  }

  get isThere(): boolean {
    return this.#thread !== undefined
  }

  /** False: the main loop must write the heartbeats. */
  get isBeating(): boolean {
    return this.canBeat && this.#thread !== undefined && sharedElapsed() - this.sharedState[slot.heartbeatAt]! < lateMs
  }

  /** Writes heartbeats for the worker `id` from now on. */
  live(id: string): void {
    this.sharedState[slot.heartbeatAt] = sharedElapsed()
    this.#post({ live: id })
  }

  async stop(): Promise<void> {
    const thread = this.#thread
    if (thread === undefined) return
    this.#thread = undefined
    // The thread is still starting and has nothing to end in order.
    if (this.sharedState[slot.listens] === 0) return void (await thread.terminate())
    const gone = new Promise<void>(resolve => thread.once('exit', () => resolve()))
    thread.postMessage({ end: true } satisfies ToHeartbeatThread)
    await withDeadline(gone, endMs, () => new Error('too late')).catch(() => thread.terminate())
  }

  async #sendPassword(target: ConnectionTarget, log: Log): Promise<void> {
    const password = await passwordOf(target).catch(error => {
      log.warn({ err: error }, 'the function of the password has failed; the heartbeat tries again')
      return undefined
    })
    this.#post({ password })
  }

  #post(message: ToHeartbeatThread): void {
    this.#thread?.postMessage(message)
  }
}

const entry = builtModule('heartbeat/thread-main.js')

const startThread = (task: HeartbeatThreadData): Worker => new Worker(entry, { workerData: task, resourceLimits })
