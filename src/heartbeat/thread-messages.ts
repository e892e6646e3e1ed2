/** Types of the start data of the heartbeat thread, and of the messages between this thread and the main thread. */
import type { ThreadConnection } from '../database/connection-target.ts'
import type { LogStyle } from '../lib/logging/log.ts'
import type { SharedState } from './shared-state.ts'

export interface HeartbeatThreadData {
  /** Undefined: the thread cannot connect, and the main loop writes the heartbeats. */
  connection: ThreadConnection | undefined
  /** The schema of the engine. */
  schema: string
  sharedState: SharedState
  queues: readonly string[]
  /** The report folder of the supervisor, where the crashing job is named; undefined: no supervisor. */
  reportFolder: string | undefined
  killWhenHung: boolean
  /** The memory limit of the process, in bytes. */
  memoryBytes: number
  /** After this time without a written heartbeat, the thread sends `silent`. */
  silentMs: number
  /** The log style for stderr; undefined: log lines go to the main thread. */
  style: LogStyle | undefined
  /** False if the watched loop is not the process's main loop: only the main stack can be read. */
  canReadStack: boolean
}

/** `password`: the answer to `asksPassword`; undefined: there is none. */
export type ToHeartbeatThread = { live: string } | { end: true } | { password: string | undefined }

export interface ThreadLogLine {
  level: 'warn' | 'error'
  facts: Readonly<Record<string, unknown>>
  message: string
}

export type FromHeartbeatThread = { dead: string } | { silent: true } | { asksPassword: true } | { line: ThreadLogLine }
