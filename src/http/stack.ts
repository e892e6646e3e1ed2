/** A stack, or what a process said last on stderr, tells of files and versions: it is for those who act, and null for viewers. */
import type { Principal } from './route.ts'

const notForViewers = ['stack', 'stderr']
/** What lies in these is the user's own, whatever its names. */
const notOurs = ['input', 'result', 'progress']

export const seenBy = <T>(who: Principal, told: T): T => (who.role === 'viewer' ? (without(told) as T) : told)

function without(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(without)
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      if (notForViewers.includes(name)) return [name, null]
      return [name, notOurs.includes(name) ? each : without(each)]
    }),
  )
}
