/** Defines a child, a process or a thread, as the pool and a run use the child. */
import { createStderrTail, type StderrTail } from '../lib/stderr-tail.ts'
import type { LastMessage, ToChild, ToParent } from './child-protocol.ts'

export interface Child {
  /** Does nothing for a dead child, which `died` reports. Throws for a value that cannot be sent. */
  send(message: ToChild): void
  /** Sets the listener for messages from now on. */
  onMessage(listener: (message: ToParent) => void): void
  /** Rejects if the child died first. */
  readonly ready: Promise<void>
  readonly died: Promise<ChildExit>
  /** False: the child is dead, although `died` may not have resolved yet. */
  readonly isThere: boolean
  /** Kills the child; returns true if the child is dead. A thread in native code may survive. */
  kill(): Promise<boolean>
  /**
   * The total milliseconds in which the child was ready to run and the machine ran other processes; 0 if the system does not count this.
   */
  stolenMs(): number
  /** Only a working child keeps this process alive. */
  works(is: boolean): void
}

/** The facts about a dead child. */
export interface ChildExit {
  signal: string | null
  exitCode: number | null
  /** The last known value. */
  memoryBytes: number | null
  /** The last part of stderr. */
  stderr: string
  words: LastMessage | null
  /** The last run that reached the child; undefined: unknown for a thread. */
  begun: number | undefined
  /** The error that ended a thread, as reported by Node. */
  error: unknown
}

/** A handler may send messages of its own by mistake: such messages are ignored. */
export const isOurs = (message: unknown): message is ToParent =>
  typeof message === 'object' && message !== null && typeof (message as { type?: unknown }).type === 'string'

/** The wait for a killed child. */
export const killWithinMs = 1000

/** The part of a readable stream that is used. The public declarations name no type of Node. */
interface StderrOfChild {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
}

/** Passes the stderr of a child on to the stderr of this process, and keeps the last part. */
export function passStderrOn(stream: StderrOfChild | null | undefined): StderrTail {
  const tail = createStderrTail()
  stream?.on('data', (chunk: Uint8Array) => {
    process.stderr.write(chunk)
    tail.add(chunk)
  })
  return tail
}
