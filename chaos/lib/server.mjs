/** Kills the PostgreSQL server of a scenario, as a power cut does, and checks whether the server answers. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export const answers = stage =>
  stage.sql('select 1').then(
    () => true,
    () => false,
  )

/** Kills every PostgreSQL process with a working folder inside `folder`. Returns the number of processes. */
export function killServer(folder) {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name) && worksIn(name, folder))
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // The process has already ended with the postmaster.
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
