/** One child, a process or a thread: what the pool and a run need of it. */
import type { ToChild, ToParent, Words } from './wire.ts'

export interface Child {
  /** Never throws: one that is dead tells so by `died`. What cannot be sent at all throws. */
  send(message: ToChild): void
  /** Who hears it from now on. */
  hear(listener: (message: ToParent) => void): void
  /** Rejects when it died first. */
  readonly ready: Promise<void>
  readonly died: Promise<Remains>
  /** false: it is dead, though `died` may not have told yet. */
  readonly isThere: boolean
  /** As hard as can be; answers whether it is dead. A thread may not be, for as long as it is in native code. */
  kill(): Promise<boolean>
  /** How long it was ready to compute and the machine computed something else, so far; 0 where the system does not count it. */
  stolenMs(): number
  /** Only one that works keeps this process alive. */
  works(is: boolean): void
}

/** What is left of a dead child. */
export interface Remains {
  signal: string | null
  exitCode: number | null
  /** The last that is known. */
  memoryBytes: number | null
  /** The end of what it wrote there. */
  stderr: string
  words: Words | null
  /** The last run that reached it; undefined: not known of a thread. */
  begun: number | undefined
  /** An error that ended it, as Node tells of a thread. */
  error: unknown
}

/** A handler may send things of its own, by mistake: nobody hears them. */
export const isOurs = (message: unknown): message is ToParent =>
  typeof message === 'object' && message !== null && typeof (message as { type?: unknown }).type === 'string'

/** How long a killed child is waited for. */
export const killWithinMs = 1000

const mostStderr = 8192

/** The end of a stream; what comes is passed on as well. */
export class Tail {
  #kept: Buffer = Buffer.alloc(0)

  readonly take = (chunk: Uint8Array): void => {
    process.stderr.write(chunk)
    this.#kept = Buffer.concat([this.#kept, chunk]).subarray(-mostStderr)
  }

  get text(): string {
    return this.#kept.toString('utf8')
  }
}
