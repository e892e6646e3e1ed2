/**
 * Child processes of the scripts, with the output kept instead of shown. Each child leads a separate process group: npm
 * and tsc start more children, and only the end of the group ends all processes at once.
 */
import { spawn } from 'node:child_process'

const running = new Map()
let ending = false

/** Resolves with `{ ok, how, output }` when the command has ended; `how` says in which way, for a message. */
export function run(command, args, { cwd, env = process.env, started = () => {} }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const output = []
    child.stdout.on('data', chunk => output.push(chunk))
    child.stderr.on('data', chunk => output.push(chunk))
    child.on('error', reject)
    const closed = new Promise(done => child.on('close', done))
    running.set(child, closed)
    child.on('close', (status, signal) => {
      running.delete(child)
      // No caller continues after `endChildren`: the process is about to exit.
      if (ending) return
      resolve({ ok: status === 0, how: signal ?? `exit ${status}`, output: Buffer.concat(output).toString().trim() })
    })
    if (child.pid !== undefined) started(child.pid)
  })
}

/** Ends every child and every descendant. Resolves when all are gone. */
export async function endChildren() {
  ending = true
  for (const child of running.keys()) endGroup(child.pid)
  await Promise.all(running.values())
}

export function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH' && error.code !== 'EPERM') throw error
  }
}
