/** Reads the memory of a process and the out-of-memory kills from the Linux kernel. Null on other systems. */
import { readFileSync } from 'node:fs'

/** The resident memory of a process, in bytes. */
export function memoryOf(pid: number): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}

/** Returns a function that reads the number of out-of-memory kills: in our control group if counted there, else on this machine. */
export function oomCounter(): () => number | null {
  const file = countFiles().find(each => countIn(each) !== null)
  return () => (file === undefined ? null : countIn(file))
}

function countIn(file: string): number | null {
  const count = /^oom_kill (\d+)$/m.exec(textOf(file) ?? '')?.[1]
  return count === undefined ? null : Number(count)
}

/** The files of cgroup version 2 and version 1. Inside a container the group name may be a name of the host; the top group is then ours. */
function countFiles(): string[] {
  const groups = textOf('/proc/self/cgroup') ?? ''
  const second = /^0::(\/.*)$/m.exec(groups)?.[1] ?? '/'
  const first = /^\d+:(?:\w+,)*memory(?:,\w+)*:(\/.*)$/m.exec(groups)?.[1] ?? '/'
  return [
    `/sys/fs/cgroup${second}/memory.events`,
    '/sys/fs/cgroup/memory.events',
    `/sys/fs/cgroup/memory${first}/memory.oom_control`,
    '/sys/fs/cgroup/memory/memory.oom_control',
    '/proc/vmstat',
  ]
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return undefined
  }
}
