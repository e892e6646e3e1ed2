/**
 * When the watchdog comes: it looks every few seconds from its last look. Said so that nobody who waits that long was told
 * too little: the first look at which something is due, not the moment it falls due.
 */
import { type Saying, say } from '../../errors.ts'
import { watchEvery } from '../policy.ts'
import { span } from '../span.ts'
import type { WatchFacts } from './facts.ts'
import { nothing, since } from './words.ts'

/** Six looks did not come: nothing is promised any more, well before it is a failure (policy.ts, unwatchedAfter). */
const lateMs = 6 * watchEvery

export interface Coming {
  /** Seconds until the first look from `due` on; 0: at any moment. */
  seconds: number
  /** Nobody looks: then it is not coming. */
  late: boolean
}

export function nextLook({ lookedAt }: WatchFacts, now: Date, due = now): Coming {
  if (lookedAt === null || now.getTime() - lookedAt.getTime() > lateMs) return { seconds: 0, late: true }
  // One that is late comes at any moment.
  const from = Math.max(lookedAt.getTime(), now.getTime() - watchEvery)
  const looks = Math.max(1, Math.ceil((due.getTime() - from) / watchEvery))
  return { seconds: Math.max(0, Math.ceil((from + looks * watchEvery - now.getTime()) / 1000)), late: false }
}

/**
 * Jobs of a kind that is swept rarely are put right at instants that follow from the clock alone, a look less than sweepEvery
 * apart: the first from `due` on.
 */
export function nextSweep(due: Date, sweepEvery: number): Date {
  const step = sweepEvery - watchEvery
  return step <= 0 ? due : new Date(Math.ceil(due.getTime() / step) * step)
}

/** `, and no watchdog has looked for 3 min`; nothing while one does. */
export function nobodyLooks({ lookedAt }: WatchFacts, { late }: Coming, now: Date): Saying {
  if (!late) return nothing
  if (lookedAt === null) return say('; but no watchdog has ever looked', '; mas nenhum watchdog olhou até hoje')
  const span = since(lookedAt, now)
  return say(`; but no watchdog has looked for ${span}`, `; mas nenhum watchdog olha há ${span}`)
}

/** `in about 8 s`, `at any moment`. */
export const comingIn = ({ seconds }: Coming): Saying =>
  seconds === 0
    ? say('at any moment', 'a qualquer momento')
    : say(`in about ${span(seconds)}`, `em cerca de ${span(seconds)}`)

export const startWatchdog = say(
  'start one; every `retoma up`, `serve` or `worker` looks',
  'inicie um; todo `retoma up`, `serve` ou `worker` olha',
)
