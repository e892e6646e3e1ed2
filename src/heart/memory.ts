/** How much memory a worker's process may have when nobody says: three quarters of what there is for it. */
import { totalmem } from 'node:os'

export function defaultMemoryCap(): number {
  // Of its container, where there is one; without, an answer beyond any memory, or none.
  const constrained = process.constrainedMemory?.() || Number.POSITIVE_INFINITY
  return Math.floor(Math.min(totalmem(), constrained) * 0.75)
}
