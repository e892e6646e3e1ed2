/** What a heart is given when it starts, and what it and the main thread say to each other. */
import type { LogStyle } from '../lib/log.ts'
import type { Signs } from './signs.ts'

export interface HeartTask {
  url: string
  signs: Signs
  queues: readonly string[]
  /** Where the culprit of a death is named; undefined: nobody starts this process again. */
  papers: string | undefined
  killWhenHung: boolean
  /** The most memory the process may have, in bytes. */
  memoryBytes: number
  /** Unable to beat for so long, it says so. */
  silentMs: number
  /** How to write to stderr; undefined: lines are handed to the main thread. */
  style: LogStyle | undefined
  /** false: the loop it watches is not the process's main one, whose stack is all that can be taken. */
  canLook: boolean
}

export type ToHeart = { live: string } | { end: true }

export interface Line {
  level: 'warn' | 'error'
  facts: Readonly<Record<string, unknown>>
  message: string
}

export type FromHeart = { dead: string } | { silent: true } | { line: Line }
