/**
 * When a schedule fires: a cron pattern in a time zone, or every so often. A *slot* is one such instant.
 *
 * Invariant: slots depend on the plan alone, never on when a process started or looked: `every` counts from the epoch, so
 * all processes name the same instants. Where clocks are put forward, a slot in the hour that is left out fires at the
 * jump; where they are put back, a fixed time of day fires in the first of the two hours only.
 */
import { Cron } from 'croner'
import { type Saying, say } from '../errors.ts'
import { type Duration, seconds } from './duration.ts'

export type Plan = CronPlan | EveryPlan

export interface CronPlan {
  readonly cron: string
  readonly timeZone: string
}

export interface EveryPlan {
  readonly every: Duration
}

/** No two slots are closer to each other. */
export const closest = seconds(1)

/** The first slot after that instant. */
export function slotAfter(plan: Plan, instant: Date): Date {
  if ('every' in plan) return new Date((Math.floor(instant.getTime() / plan.every) + 1) * plan.every)
  const slot = read(plan).nextRun(instant)
  if (slot === null) throw new RangeError(`"${plan.cron}" names no instant after ${instant.toISOString()}`)
  return slot
}

/** The last slot up to and including `now`; `first` is a slot that is not after it. By halves: there may be millions. */
export function lastSlot(plan: Plan, first: Date, now: Date): Date {
  let last = first
  let end = now.getTime() // no slot lies after this and up to now
  while (end - last.getTime() >= closest) {
    const middle = new Date((last.getTime() + end) / 2)
    const slot = slotAfter(plan, middle)
    if (slot <= now) last = slot
    else end = middle.getTime()
  }
  return last
}

/** Why the pattern cannot be used, at times in croner's own words; undefined when it can. */
export function cronProblem(cron: string): Saying | undefined {
  if (!/^(@\w+|\S+( \S+){4,5})$/.test(cron))
    return say(
      'it has five fields (minute hour day month weekday), or six with seconds first',
      'ele tem cinco campos (minuto hora dia mês dia-da-semana), ou seis com os segundos primeiro',
    )
  try {
    const names = read({ cron, timeZone: 'UTC' }).nextRun(new Date(0)) !== null
    return names ? undefined : say('it names no instant at all', 'ele não indica nenhum instante')
  } catch (error) {
    const quote = (error as Error).message.replace(/^CronPattern: /, '')
    return say(quote, quote)
  }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

/** Paused: it only reckons, and starts no timer of its own. */
const read = ({ cron, timeZone }: CronPlan): Cron =>
  new Cron(cron, { timezone: timeZone, paused: true, mode: '5-or-6-parts' })
