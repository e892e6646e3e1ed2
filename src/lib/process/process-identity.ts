/**
 * Identifies a process, so another process on this machine can later prove the end of the first. A pid alone is not enough: pids are used
 * again, and a pid names another process in another container or after a restart of the machine.
 *
 * Invariant: `isGone` returns true only with proof. Without proof (another machine, another container, a system without /proc) the
 * process counts as alive.
 */
import { readFileSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  /** This start of this machine, with the namespace in which a pid names a single process and a start names a single instant. */
  machine: string
  pid: number
  /** The start of the process, in the kernel's own count. */
  start: string
}

/** undefined on systems other than Linux, which do not provide the facts. */
export function thisProcess(): ProcessIdentity | undefined {
  known ??= { is: read() }
  return known.is
}

let known: { is: ProcessIdentity | undefined } | undefined

/** The identity of a running process of this machine; undefined if the system does not show the process. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const here = thisProcess()
  const found = here && statOf(String(pid))
  return found?.pid === pid ? { machine: here!.machine, pid, start: found.start } : undefined
}

function read(): ProcessIdentity | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    const numbers = readlinkSync('/proc/self/ns/pid')
    const time = linkOrNothing('/proc/self/ns/time')
    const self = statOf('self')
    if (boot === '' || self === undefined) return undefined
    // In a /proc of another namespace `self` has another number.
    if (self.pid !== process.pid) return undefined
    return { machine: [boot, numbers, time].join(' '), pid: process.pid, start: self.start }
  } catch {
    return undefined
  }
}

/** True if the process has certainly ended. */
export function isGone({ machine, pid, start }: ProcessIdentity): boolean {
  const here = thisProcess()
  if (here === undefined || here.machine !== machine) return false
  if (pid === here.pid) return start !== here.start
  if (!exists(pid)) return true
  const found = statOf(String(pid))
  // /proc may hide a running process from this user.
  if (found === undefined || found.pid !== pid) return false
  return found.start !== start || found.state === 'Z' || found.state === 'X'
}

/** Sends signal 0, because /proc may hide the processes of other users. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Reads /proc/PID/stat. The process name in the file may hold any character, also blanks and brackets. */
function statOf(process: string): { pid: number; state: string; start: string } | undefined {
  try {
    const text = readFileSync(`/proc/${process}/stat`, 'latin1')
    const [state = '', ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const start = rest[18]
    return start === undefined ? undefined : { pid: Number.parseInt(text, 10), state, start }
  } catch {
    return undefined
  }
}

/** Kernels before 5.6 have no time namespaces. */
function linkOrNothing(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
