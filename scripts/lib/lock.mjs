/**
 * One set-up at a time in a checkout. The lock is a file that names the process that holds it and the child (npm, tsc)
 * that works for it.
 *
 * A process is known by its pid and the moment it started: pids come round again, above all in containers. The lock of a
 * process that is gone is taken over, after ending a child it left at work in this folder.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { endGroup } from './children.mjs'
import { Trouble } from './trouble.mjs'

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

/** Waits for the lock; resolves with `{ names(childPid), release() }`. `waiting(pid)` is called once if there is a wait. */
export async function takeLock(file, waiting) {
  const me = identity(process.pid)
  let reported = false
  while (!create(file, { holder: me })) {
    const found = read(file)
    if (found === 'dead') takeOver(file)
    else if (found !== 'gone' && !reported) {
      reported = true
      waiting(found.holder.pid)
    }
    await pause(50)
  }
  return {
    names: childPid => writeFileSync(file, JSON.stringify({ holder: me, child: identity(childPid) })),
    release: () => rmSync(file, { force: true }),
  }
}

function create(file, content) {
  try {
    writeFileSync(file, JSON.stringify(content), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    if (['EACCES', 'EPERM', 'EROFS'].includes(error.code)) {
      throw new Trouble(
        `this user may not write in ${process.cwd()} (${error.code}); set-up needs to: give the folder to this user, or clone it again as this user`,
      )
    }
    throw error
  }
}

/** What the lock file says: its content while the holder lives, 'dead' when it does not, 'gone' when there is no file. */
function read(file) {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8'))
    return isAlive(content.holder) ? content : 'dead'
  } catch (error) {
    if (error.code === 'ENOENT') return 'gone'
    // Not JSON: being written at this moment, unless it stays so.
    return ageOf(file) > 2000 ? 'dead' : 'gone'
  }
}

/**
 * Removes a dead lock. Only under a second lock and after reading again: of two that saw the same dead lock, the slower
 * must not remove the fresh lock of the faster.
 */
function takeOver(file) {
  const guard = `${file}.takeover`
  if (!create(guard, {})) {
    if (ageOf(guard) > 10_000) rmSync(guard, { force: true })
    return
  }
  try {
    if (read(file) !== 'dead') return
    const child = childOf(file)
    if (child && isAlive(child)) endGroup(child.pid)
    rmSync(file, { force: true })
  } finally {
    rmSync(guard, { force: true })
  }
}

function childOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).child
  } catch {
    return undefined
  }
}

function ageOf(file) {
  try {
    return Date.now() - statSync(file).mtimeMs
  } catch {
    return 0
  }
}

const identity = pid => ({ pid, started: startOf(pid) })

const isAlive = ({ pid, started }) => startOf(pid) === started

/** A text that differs between two processes that had the same pid; null when there is no such process. */
function startOf(pid) {
  try {
    if (!existsSync('/proc/self/stat')) {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim()
    }
    // The fields after the command's closing bracket, which may itself hold spaces: state is the 1st, start time the 20th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return fields[0] === 'Z' ? null : fields[19]
  } catch {
    return null
  }
}
