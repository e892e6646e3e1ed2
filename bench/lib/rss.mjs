/** The most memory a process has ever had, as the kernel keeps it (VmHWM), looked at until the process is gone. Linux. */
import { readFileSync } from 'node:fs'

const everyMs = 50

/** Answers a function that stops looking and says the most, in bytes. */
export function watchRss(pid) {
  let most = 0
  const check = () => {
    try {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      if (kilobytes) most = Math.max(most, Number(kilobytes) * 1024)
    } catch {
      // It has ended.
    }
  }
  check()
  const timer = setInterval(check, everyMs)
  return () => {
    clearInterval(timer)
    return most
  }
}
