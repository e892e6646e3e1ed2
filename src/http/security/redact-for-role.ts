/**
 * Removes stacks and the stderr of a process from responses to viewers: both reveal files and versions, so only operators and admins see
 * them.
 */
import type { Principal } from '../route.ts'

const notForViewers = ['stack', 'stderr']
/** Values of the user; names inside do not matter. */
const notOurs = ['input', 'result', 'progress']

export const redactForRole = <T>(who: Principal, value: T): T => (who.role === 'viewer' ? (without(value) as T) : value)

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
