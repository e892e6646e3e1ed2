/** The server that a stage stands on: killed, as by a power cut, and asked whether it is there. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export const answers = stage =>
  stage.sql('select 1').then(
    () => true,
    () => false,
  )

/** Every process that works in the data folder; answers how many. */
export function killServer(folder) {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name) && worksIn(name, folder))
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // Gone with its postmaster.
    }
  }
  return pids.length
}

function worksIn(pid, folder) {
  try {
    if (!/postgres/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) return false
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
  } catch {
    return false
  }
}
