/** Processes as /proc shows them, on Linux; elsewhere there are none to see. */
import { readdirSync, readFileSync } from 'node:fs'

/** The fields of /proc/PID/stat from the state on; undefined: the process has ended. */
function statOf(pid: string): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ')
  } catch {
    return undefined
  }
}

/** The child processes of a process. */
export function childrenOf(parent: number): string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').filter(pid => /^\d+$/.test(pid) && statOf(pid)?.[1] === String(parent))
}

/** The processes below a process, at any depth. */
export const descendantsOf = (parent: number): string[] =>
  childrenOf(parent).flatMap(pid => [pid, ...descendantsOf(Number(pid))])

/** The seconds of a core that a process has used. */
export function cpuSecondsOf(pid: string): number {
  const stat = statOf(pid)
  return stat === undefined ? 0 : (Number(stat[11]) + Number(stat[12])) / 100
}

/** A zombie has ended: only its parent has not asked for its end. */
export const isAlive = (pid: string): boolean => !['Z', 'X', undefined].includes(statOf(pid)?.[0])
