/** What the kernel tells of a process and of memory that ran out. Null where it does not: on another system than Linux. */
import { readFileSync } from 'node:fs'

/** How much of it is in memory now. */
export function memoryOf(pid: number): number | null {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`) ?? '')?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}

/** Asks how often a process was killed for want of memory: in our control group, where that is counted, else on this machine. */
export function oomCounter(): () => number | null {
  const file = countFiles().find(each => countIn(each) !== null)
  return () => (file === undefined ? null : countIn(file))
}

function countIn(file: string): number | null {
  const count = /^oom_kill (\d+)$/m.exec(textOf(file) ?? '')?.[1]
  return count === undefined ? null : Number(count)
}

/** Version 2 and version 1; inside a container the group's own name may be one of the host's, and the top is ours. */
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
