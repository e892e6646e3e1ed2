/**
 * Defines the policy of a kind as plain data, stored in the `kind` table, so that a watchdog without the code of the kind can
 * judge the jobs. All defaults are in this file.
 */

import { type Duration, minutes, seconds } from '../../lib/values/duration.ts'
import { type Backoff, defaultBackoff } from './backoff.ts'

/** What the engine does to a job or batch in trouble. */
export type PolicyAction = 'retry' | 'stall' | 'fail'
/** The place of a handler: in the worker, in a thread, in a process. */
export type Isolation = 'inline' | 'thread' | 'process'

/** Messages of the kind for jobs ended by the watchdog. */
export interface PolicyMessages {
  /** For a job whose worker died. Default: the message of Retoma. */
  orphan?: string
  /** For a job that made no progress. Default: the message of Retoma. */
  stalled?: string
  /** For a job that is past its `maxAge` or its `maxWait`. Default: the message of Retoma. */
  overdue?: string
}

/** The checked policy of a kind. */
export interface JobPolicy {
  /** Attempts in total: 3 means the first attempt and two more. */
  maxAttempts: number
  backoff: Backoff
  /** Longest duration of an attempt. */
  timeout: Duration
  stallAfter: Duration | null
  maxAge: Duration | null
  maxWait: Duration | null
  /** Usual duration of an attempt; a longer attempt is reported as slow. */
  expect: Duration | null
  orphanAfter: Duration
  sweepEvery: Duration
  maxCrashes: number
  onOrphan: PolicyAction
  onStall: PolicyAction
  isolation: Isolation
  memoryBytes: number | null
  messages: PolicyMessages
}

export const defaultPolicy: JobPolicy = {
  maxAttempts: 3,
  backoff: defaultBackoff,
  timeout: minutes(15),
  stallAfter: null,
  maxAge: null,
  maxWait: null,
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

export const heartbeatEvery = seconds(5)
/** Interval at which each process checks all workers. */
export const watchEvery = seconds(5)
/** Without a check for so long, the system has failed and a person should act. */
export const unwatchedAfter = minutes(1)
/** A worker without a successful claim query for so long (three polls) cannot claim. */
export const unclaimedAfter = seconds(15)
/** A main loop blocked for so long is hung. */
export const hungAfter = seconds(5)
/** A handler that has not ended so long after its signal aborted is an abandoned handler. */
export const abandonAfter = seconds(10)
