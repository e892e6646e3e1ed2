/**
 * Which process this is, so that another one on this machine can tell for certain, later, that it is gone. A number alone does
 * not say: numbers are used again, and mean other processes in another container or after a restart of the machine.
 *
 * Invariant: `isGone` answers true only with proof. What cannot be told counts as alive: another machine, another container, a
 * system that does not say.
 */
import { readFileSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  /** This start of this machine, and the namespace in which a pid names one process and its start one instant. */
  machine: string
  pid: number
  /** When the process was started, in the kernel's own count. */
  start: string
}

/** Undefined where the system does not tell: on another one than Linux. */
export function thisProcess(): ProcessIdentity | undefined {
  known ??= { is: read() }
  return known.is
}

let known: { is: ProcessIdentity | undefined } | undefined

/** Of a process of this machine that is there; undefined where that cannot be told. */
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

/** Whether that process has certainly ended. */
export function isGone({ machine, pid, start }: ProcessIdentity): boolean {
  const here = thisProcess()
  if (here === undefined || here.machine !== machine) return false
  if (pid === here.pid) return start !== here.start
  if (!exists(pid)) return true
  const found = statOf(String(pid))
  // Without an answer from /proc it may be there and hidden from this user.
  if (found === undefined || found.pid !== pid) return false
  return found.start !== start || found.state === 'Z' || found.state === 'X'
}

/** Asked by a signal that is not sent: /proc may hide the processes of others. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Its name may hold anything, blanks and brackets too. */
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

/** Kernels before 5.6 have no namespaces of time. */
function linkOrNothing(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
