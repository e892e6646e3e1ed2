/**
 * Cleans up after a temporary server: a separate process that waits until the owner closes a pipe, by ending or by a kill, then ends
 * every PostgreSQL program in the server's folder and removes the folder. Started by test-server.ts.
 *
 * The process runs a plain text with `node -e`, because Node 20 runs no TypeScript and the owner may run from source.
 */
import { type ChildProcess, spawn } from 'node:child_process'

const script = `
const { execFileSync } = require('node:child_process')
const fs = require('node:fs')

const pause = ms => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

function commands() {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-axww', '-o', 'pid=,command=']).toString().split('\\n').map(line => [parseInt(line), line])
  return fs.readdirSync('/proc').filter(name => /^[0-9]+$/.test(name)).map(pid => {
    try { return [Number(pid), fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8')] } catch { return [Number(pid), ''] }
  })
}

function tell(pid, signal) {
  try { process.kill(pid, signal) } catch {}
}

function end(folders) {
  const working = ([pid, command]) =>
    /(^|\\/)(postgres|initdb)[\\0 ]/.test(command) && folders.some(folder => command.includes(folder))
  const signalled = new Set()
  for (let round = 0; round < 600; round++) {
    const pids = commands().filter(working).map(([pid]) => pid)
    for (const pid of pids) {
      if (!signalled.has(pid)) tell(pid, 'SIGQUIT')
      else if (round > 200) tell(pid, 'SIGKILL')
      signalled.add(pid)
    }
    if (pids.length === 0) {
      for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
      if (!folders.some(folder => fs.existsSync(folder))) return
    }
    pause(15)
  }
}

let heard = ''
process.on('SIGINT', () => {}).on('SIGTERM', () => {}).on('SIGHUP', () => {})
process.stdin.on('data', chunk => { heard += chunk })
process.stdin.on('close', () => { end(heard.split('\\n').filter(Boolean).map(line => JSON.parse(line))) })
`

export interface ServerCleanup {
  /** Adds a folder to remove. */
  watch(folder: string): void
  /** Resolves when nothing is left. */
  end(): Promise<void>
}

export function startServerCleanup(): ServerCleanup {
  const child = spawn(process.execPath, ['-e', script], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
    // Ctrl-C in the terminal ends the owner, not the warden.
    detached: true,
  })
  const ended = new Promise<void>((resolve, reject) => child.on('exit', () => resolve()).on('error', reject))
  const pipe = child.stdin as NonNullable<ChildProcess['stdin']> & { ref(): void; unref(): void }
  pipe.on('error', () => {})
  child.unref()
  pipe.unref()
  return {
    watch: folder => void pipe.write(`${JSON.stringify(folder)}\n`),
    end() {
      child.ref()
      pipe.end()
      return ended
    },
  }
}
