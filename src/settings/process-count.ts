/** Parses the number of worker processes, for the setting, for the option `--processes`, and for the supervisor, which loads very little. */
import { availableParallelism } from 'node:os'

export const mostProcesses = 256

/** `auto` is one process for each core. Undefined: the text is no such number. */
export function parseProcesses(given: string): number | undefined {
  if (given === 'auto') return Math.min(availableParallelism(), mostProcesses)
  const number = /^\d{1,3}$/.test(given) ? Number(given) : 0
  return number >= 1 && number <= mostProcesses ? number : undefined
}
