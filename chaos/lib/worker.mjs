/** Starts a worker process, waits until the worker is ready, sends signals to the process and reads the log. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('./worker-process.mjs', import.meta.url))
let count = 0

export async function startWorker({ room, stderr = 'inherit', ...options }) {
  const log = join(room, 'logs', `${++count}.log`)
  const task = JSON.stringify({ ...options, log, released: join(room, 'released') })
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: room }
  const child = spawn(process.execPath, [script, task], { env, stdio: ['pipe', 'pipe', stderr] })
  child.stdin.on('error', () => {})
  const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve({ code, signal })))
  const id = await Promise.race([
    new Promise(resolve => child.stdout.once('data', text => resolve(String(text).trim()))),
    ended.then(({ code, signal }) => {
      throw new Error(`a worker ended before it worked: ${signal ?? code}`)
    }),
  ])
  return {
    id,
    pid: child.pid,
    ended,
    signal: name => child.kill(name),
    logLines: () => linesOf(log),
  }
}

/** A torn last line is left out. */
function linesOf(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .flatMap(line => {
      try {
        return line === '' ? [] : [JSON.parse(line)]
      } catch {
        return []
      }
    })
}
