/** Starts `retoma worker` as a user does: a supervisor and the supervised process. */
import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const config = fileURLToPath(new URL('./trouble.config.mjs', import.meta.url))
let count = 0

const cliEnv = ({ room, url, env = {} }) => ({
  PATH: process.env.PATH,
  HOME: room,
  TMPDIR: room,
  LANG: 'en_US.UTF-8',
  LOG_FORMAT: 'json',
  DATABASE_URL: url,
  LEDGER: join(room, 'ledger'),
  ...env,
})

export function startRetoma({ room, url, args = ['worker'], env }) {
  const path = join(room, 'logs', `retoma-${++count}.log`)
  const file = openSync(path, 'a')
  const child = spawn(process.execPath, [cli, '--config', config, ...args], {
    cwd: room,
    env: cliEnv({ room, url, env }),
    stdio: ['ignore', file, file],
  })
  const ended = new Promise(resolve => child.on('exit', (code, signal) => resolve({ code, signal })))
  return {
    pid: child.pid,
    ended,
    signal: name => child.kill(name),
    text: () => readFileSync(path, 'utf8'),
    lines: () =>
      readFileSync(path, 'utf8')
        .split('\n')
        .flatMap(line => {
          try {
            return line.startsWith('{') ? [JSON.parse(line)] : []
          } catch {
            return []
          }
        }),
  }
}

/** Runs a command to the end. Returns the exit code and the output. */
export async function askRetoma({ room, url, args, env }) {
  const child = spawn(process.execPath, [cli, '--config', config, ...args], {
    cwd: room,
    env: cliEnv({ room, url, env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.on('data', text => (out += text))
  child.stderr.on('data', text => (err += text))
  const code = await new Promise(resolve => child.on('close', resolve))
  return { code, out, err }
}
