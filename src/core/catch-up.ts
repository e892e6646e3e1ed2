/** Which slots fire now, and which is the next: what a schedule does about those that passed while nothing ran. */
import { minutes } from './duration.ts'
import { lastSlot, type Plan, slotAfter } from './plan.ts'

/** `skip`: those missed are gone. `once`: one job for all of them. `all`: one job for each. */
export type CatchUp = 'skip' | 'once' | 'all'

export const catchUps: readonly CatchUp[] = ['skip', 'once', 'all']

/** A slot that is no older than this was not missed, only late: nobody looks at the very instant. */
const onTime = minutes(1)

export interface Due {
  slots: Date[]
  nextAt: Date
}

/** `nextAt` is a slot that is due; at most `limit` slots fire, and `nextAt` of the answer may be due as well then. */
export function dueSlots(plan: Plan, catchUp: CatchUp, nextAt: Date, now: Date, limit: number): Due {
  if (catchUp !== 'all') {
    const last = lastSlot(plan, nextAt, now)
    const missed = catchUp === 'skip' && now.getTime() - last.getTime() > onTime
    return { slots: missed ? [] : [last], nextAt: slotAfter(plan, last) }
  }
  const slots = [nextAt]
  for (;;) {
    const next = slotAfter(plan, slots.at(-1)!)
    if (next > now || slots.length >= limit) return { slots, nextAt: next }
    slots.push(next)
  }
}
