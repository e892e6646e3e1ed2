/** The peak memory of a process from the kernel (VmHWM), sampled until the process is gone. Linux. */
import { readFileSync } from 'node:fs'

const everyMs = 50

/** Returns a function which stops the sampling and returns the peak in bytes. */
export function watchRss(pid) {
  let most = 0
  const check = () => {
    try {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      if (kilobytes) most = Math.max(most, Number(kilobytes) * 1024)
    } catch {
      // The process has ended.
    }
  }
  check()
  const timer = setInterval(check, everyMs)
  return () => {
    clearInterval(timer)
    return most
  }
}
