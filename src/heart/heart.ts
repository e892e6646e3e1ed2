/**
 * A worker's heart, as its main thread knows it: starts the thread that beats, hears what it says, ends it.
 *
 * Invariant: it never keeps a process alive and never ends one that has no supervisor. Where the thread cannot start, or
 * cannot beat, `isBeating` is false, and the main loop beats in its place.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { beatEvery } from '../core/policy.ts'
import { sharedElapsed } from '../lib/clock.ts'
import { withDeadline } from '../lib/deadline.ts'
import { type Log, styleOf } from '../lib/log.ts'
import { papersFolder } from '../supervisor/papers.ts'
import type { FromHeart, HeartTask, ToHeart } from './messages.ts'
import { newSigns, type Signs, sign } from './signs.ts'

export interface HeartOptions {
  url: string
  log: Log
  queues: readonly string[]
  killWhenHung: boolean
  memoryBytes: number
  silentMs: number
  /** That worker was declared dead. */
  dead: (id: string) => void
  /** It has not been able to beat for `silentMs`. */
  silent: () => void
}

/** How old its last beat may be before the main loop beats for it. */
const lateMs = beatEvery * 1.5
const endMs = 2000
/** Of the thread's own heap: it holds a connection and little else. */
const resourceLimits = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }

export class Heart {
  readonly signs: Signs
  #thread: Worker | undefined

  constructor(options: HeartOptions) {
    const { url, queues, killWhenHung, memoryBytes, silentMs, log, dead, silent } = options
    this.signs = newSigns(queues.length)
    this.signs[sign.turnAt] = sharedElapsed()
    this.signs[sign.beatAt] = sharedElapsed()
    const task: HeartTask = {
      url,
      signs: this.signs,
      queues,
      papers: papersFolder(),
      killWhenHung,
      memoryBytes,
      silentMs,
      style: styleOf(log),
      canLook: isMainThread,
    }
    const lost = (error?: unknown) => {
      if (this.#thread === undefined) return
      this.#thread = undefined
      log.warn({ err: error }, 'the heart of this worker cannot go on; its main loop beats instead')
    }
    try {
      this.#thread = startThread(task)
    } catch (error) {
      // Whatever made one file of ours has lost the thread's.
      log.warn({ err: error }, 'the heart of this worker cannot start; its main loop beats instead')
      return
    }
    const thread = this.#thread
    thread.on('message', (message: FromHeart) => {
      if ('dead' in message) dead(message.dead)
      else if ('silent' in message) silent()
      else log[message.line.level](message.line.facts, message.line.message)
    })
    thread.on('error', lost)
    thread.on('exit', () => lost())
    thread.unref()
  }

  get isThere(): boolean {
    return this.#thread !== undefined
  }

  /** false: the main loop has to. */
  get isBeating(): boolean {
    return this.#thread !== undefined && sharedElapsed() - this.signs[sign.beatAt]! < lateMs
  }

  /** Beats for that worker from now on. */
  live(id: string): void {
    this.signs[sign.beatAt] = sharedElapsed()
    this.#post({ live: id })
  }

  async stop(): Promise<void> {
    const thread = this.#thread
    if (thread === undefined) return
    this.#thread = undefined
    // Still starting: there is nothing to say goodbye to.
    if (this.signs[sign.hears] === 0) return void (await thread.terminate())
    const gone = new Promise<void>(resolve => thread.once('exit', () => resolve()))
    thread.postMessage({ end: true } satisfies ToHeart)
    await withDeadline(gone, endMs, () => new Error('too late')).catch(() => thread.terminate())
  }

  #post(message: ToHeart): void {
    this.#thread?.postMessage(message)
  }
}

/** Sources are run by our own tests alone, and Node 20 cannot read them: what a test starts is what was built from them. */
const entry = new URL(import.meta.url.endsWith('.ts') ? '../../dist/heart/thread.js' : './thread.js', import.meta.url)

const startThread = (task: HeartTask): Worker => new Worker(entry, { workerData: task, resourceLimits })
