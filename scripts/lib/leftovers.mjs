/**
 * Finds the leftovers of a test run: files in the temporary folder, and processes with the folder in the environment,
 * the command line or the working folder (PostgreSQL overwrites the environment, but runs in the data folder).
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** `{ pid, command }` of processes still there after two seconds, the time to finish exiting. Linux only. */
export async function processesLeft(folder) {
  let left = processesOf(folder)
  for (let tries = 20; left.length > 0 && tries > 0; tries--) {
    await pause(100)
    left = processesOf(folder)
  }
  return left
}

function processesOf(folder) {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(pid => knows(pid, folder))
    .map(pid => ({ pid: Number(pid), command: readOf(pid, 'cmdline').replaceAll('\0', ' ').trim() }))
}

function knows(pid, folder) {
  if (readOf(pid, 'environ').includes(folder) || readOf(pid, 'cmdline').includes(folder)) return true
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)
  } catch {
    return false
  }
}

/** Returns an empty text for an ended process, or a process of another user. */
function readOf(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

export function filesLeft(folder) {
  return readdirSync(folder, { withFileTypes: true }).map(entry =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )
}
