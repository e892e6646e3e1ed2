/**
 * What a supervisor does when the process it looks after has ended: end as well, or start it again, and how soon. Pure; the
 * supervisor keeps the standing between two ends.
 *
 * A process that refuses to start (a bad config, a taken port) before any has ever worked is not started again: what it said
 * is for the person who started it. Once one has worked, no end is the last but the one that was asked for.
 */
import { restartCode } from './death.ts'
import { minutes, seconds } from './duration.ts'

export interface Standing {
  /** One of its boots got ready. */
  everReady: boolean
  /** How long to wait before the next start. */
  pause: number
  /** Boots in a row that did not get ready. */
  bootFailures: number
}

export const firstStanding: Standing = { everReady: false, pause: seconds(0.2), bootFailures: 0 }

const longestPause = seconds(30)
/** Ready for so long, it counts as well, and the next trouble as a new one. */
const wellAfter = minutes(1)
/** So many boots in a row fail before somebody is told loudly; and then at every so many, when the pause grows no more. */
const loudAt = 5
const loudEvery = 20

export interface Ended {
  /** How long it had been ready; null: it never was. */
  readyMs: number | null
  signal: string | null
  exitCode: number | null
  /** The supervisor itself was told to stop. */
  stopping: boolean
}

export type Next =
  | { do: 'end' }
  | {
      do: 'restart'
      afterMs: number
      standing: Standing /** Worth an error line: it does not get ready. */
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
