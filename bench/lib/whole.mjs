/** Runs `npm start` in a separate folder, and waits until the program is ready and idle. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../scripts/lib/paths.mjs'
import { onLeash } from './leash.mjs'
import { until } from './until.mjs'

const restMs = 15_000

/** `pids()`: npm, node and every process of PostgreSQL. */
export async function startWhole(room, dataDir = join(room.folder, 'whole')) {
  let said = ''
  const env = { ...process.env, RETOMA_DATA_DIR: dataDir, PORT: '0', DATABASE_URL: '', LOG_LEVEL: 'warn' }
  const output = text => {
    said += text
  }
  const whole = onLeash('npm', ['start'], { cwd: root, env, output })
  room.atEnd(() => whole.end())
  let over = false
  void whole.ended.then(() => {
    over = true
  })
  await until(
    () => {
      if (over) throw new Error(`npm start ended: ${said}`)
      return /http:\/\/127\.0\.0\.1:\d+/.test(said)
    },
    { seconds: 120, what: 'npm start' },
  )
  await sleep(restMs)
  return {
    end: () => whole.end(),
    pids() {
      const program = childrenOf(whole.pid).find(pid => !/^cat\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')))
      // A set, because the server may be a descendant of the program or not.
      return new Set([program, postmaster(dataDir)].flatMap(withDescendants))
    },
  }
}

function postmaster(dataDir) {
  const files = ['postmaster.pid', ...readdirSync(dataDir).map(name => join(name, 'postmaster.pid'))]
  const file = files.map(name => join(dataDir, name)).find(existsSync)
  return Number(readFileSync(file, 'utf8').split('\n')[0])
}

const withDescendants = pid => [pid, ...childrenOf(pid).flatMap(withDescendants)]

/** The parent in /proc is the second field after the closing bracket of the command. */
function childrenOf(parent) {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
}
