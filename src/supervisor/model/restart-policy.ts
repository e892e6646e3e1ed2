/**
 * Decides the next step of a supervisor after the end of the worker process: end too, or restart, and the delay. Pure; the
 * supervisor keeps the standing between two ends.
 *
 * If a process refuses to start (a bad config, a taken port) before any process was ever ready, there is no restart: the error
 * message is for the person who started the process. After a process was ready, the supervisor ends only on request.
 */

import { minutes, seconds } from '../../lib/values/duration.ts'
import { restartCode } from './crash-report.ts'

export interface Standing {
  /** A process was ready before. */
  everReady: boolean
  /** Delay before the next start. */
  pause: number
  /** Starts in a row without a ready process. */
  bootFailures: number
}

export const firstStanding: Standing = { everReady: false, pause: seconds(0.2), bootFailures: 0 }

const longestPause = seconds(30)
/** After so long in the ready state the process is healthy, and the next failure counts as the first. */
const wellAfter = minutes(1)
/** Failed starts in a row before an error line; and the interval of further error lines once the delay no longer grows. */
const loudAt = 5
const loudEvery = 20

export interface Ended {
  /** Time in the ready state; null: never ready. */
  readyMs: number | null
  signal: string | null
  exitCode: number | null
  /** The supervisor got the signal to stop. */
  stopping: boolean
}

export type Next =
  | { do: 'end' }
  | {
      do: 'restart'
      afterMs: number
      standing: Standing /** Write an error line: the process does not become ready. */
      loud: boolean
    }

export function afterEnd(standing: Standing, { readyMs, signal, exitCode, stopping }: Ended): Next {
  const everReady = standing.everReady || readyMs !== null
  const byItself = signal === null
  if (stopping || (!everReady && byItself)) return { do: 'end' }
  const pause = readyMs !== null && readyMs >= wellAfter ? firstStanding.pause : standing.pause
  if (readyMs !== null && exitCode === restartCode)
    return { do: 'restart', afterMs: 0, standing: { everReady, pause, bootFailures: 0 }, loud: false }
  const bootFailures = readyMs === null ? standing.bootFailures + 1 : 0
  const next = Math.min(pause * 2, longestPause)
  const loud = bootFailures >= loudAt && (next > pause || bootFailures % loudEvery === 0)
  return { do: 'restart', afterMs: pause, standing: { everReady, pause: next, bootFailures }, loud }
}
