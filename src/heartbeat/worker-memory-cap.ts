/** Gives the default memory limit of a worker process: 75 % of the available memory. */
import { totalmem } from 'node:os'

export function defaultMemoryCap(): number {
  // The limit of the container, if any; without a container, Node returns a value beyond any memory, or none.
  const constrained = process.constrainedMemory?.() || Number.POSITIVE_INFINITY
  return Math.floor(Math.min(totalmem(), constrained) * 0.75)
}
