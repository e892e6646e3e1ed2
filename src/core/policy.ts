/**
 * What a kind of job asks of the engine, as plain data: kept in the `kind` table, so that a watchdog without the code
 * can judge its jobs. Defaults live here and nowhere else.
 */
import { type Backoff, defaultBackoff } from './backoff.ts'
import { type Duration, minutes, seconds } from './duration.ts'

export type Action = 'retry' | 'stall' | 'fail'
export type Isolation = 'inline' | 'thread' | 'process'

/** What is said of a job that the watchdog ended, in the kind's own words. */
export interface Messages {
  orphan?: string
  stalled?: string
  overdue?: string
}

export interface Policy {
  /** Tries in all: 3 means the first and two more. */
  attempts: number
  backoff: Backoff
  /** Longest time one attempt may take. */
  timeout: Duration
  stallAfter: Duration | null
  maxAge: Duration | null
  /** How long an attempt usually takes; past it the job is reported as slow. */
  expect: Duration | null
  orphanAfter: Duration
  sweepEvery: Duration
  maxCrashes: number
  onOrphan: Action
  onStall: Action
  isolation: Isolation
  memoryBytes: number | null
  messages: Messages
}

export const defaultPolicy: Policy = {
  attempts: 3,
  backoff: defaultBackoff,
  timeout: minutes(15),
  stallAfter: null,
  maxAge: null,
  expect: null,
  orphanAfter: seconds(20),
  sweepEvery: seconds(5),
  maxCrashes: 3,
  onOrphan: 'retry',
  onStall: 'stall',
  isolation: 'inline',
  memoryBytes: null,
  messages: {},
}

export const beatEvery = seconds(5)
/** How often each process looks after the workers of all. */
export const watchEvery = seconds(5)
/** Nobody has looked for so long: that is a failure of the system, which a person should mend. */
export const unwatchedAfter = minutes(1)
/** A worker that could not ask for jobs for so long, three polls, cannot claim. */
export const unclaimedAfter = seconds(15)
/** A main loop that has stood still for so long is hung. */
export const hungAfter = seconds(5)
/** A handler that has not ended so long after it was told to is abandoned. */
export const abandonAfter = seconds(10)
