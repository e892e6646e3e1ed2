/** Parses the number of worker processes, for the setting, for the option `--processes`, and for the supervisor, which loads very little. */
import { coreCount } from '../lib/process/core-count.ts'

export const mostProcesses = 256

/** `auto` is one process for each core that a CPU quota allows. Undefined: the text is no such number. */
export function parseProcesses(given: string): number | undefined {
  if (given === 'auto') return Math.min(coreCount(), mostProcesses)
  const number = /^\d{1,3}$/.test(given) ? Number(given) : 0
  return number >= 1 && number <= mostProcesses ? number : undefined
}
