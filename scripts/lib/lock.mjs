/**
 * Allows a single set-up at a time in a checkout. The lock is a file with the holder process and the holder's child
 * (npm, tsc). A process is identified by pid and start time, because pids repeat, above all in containers. If the holder
 * is gone, the next process ends the child left in this folder and takes the lock.
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

/** Reads the lock file: the content while the holder lives, 'dead' if the holder is gone, 'gone' without a file. */
function read(file) {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8'))
    return isAlive(content.holder) ? content : 'dead'
  } catch (error) {
    if (error.code === 'ENOENT') return 'gone'
    // Not JSON: another process is writing the file now. After 2 s the lock is dead.
    return ageOf(file) > 2000 ? 'dead' : 'gone'
  }
}

/**
 * Removes a dead lock, under a second lock and after another read: if two processes saw the same dead lock, the slower
 * process must not remove the new lock of the faster process.
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

/** Returns a text which differs between two processes with the same pid; null without such a process. */
function startOf(pid) {
  try {
    if (!existsSync('/proc/self/stat')) {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', stdio: 'pipe' }).trim()
    }
    // The fields after the closing bracket of the command, which may contain spaces: state is the 1st, start time the
    // 20th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
    return fields[0] === 'Z' ? null : fields[19]
  } catch {
    return null
  }
}
