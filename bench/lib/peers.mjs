/** The peers of package.json, and the Node version for the peers: some need 22, which also comes from npm. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = dirname(dirname(fileURLToPath(import.meta.url)))

export function installPeers() {
  if (['graphile-worker', '@dbos-inc/dbos-sdk'].every(name => existsSync(join(bench, 'node_modules', name)))) return
  // Not `npm ci`: the lock may lack other platforms' optional packages.
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
    cwd: bench,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function peersNode() {
  const shipped = join(bench, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  return existsSync(shipped) ? shipped : process.execPath
}

/** Runs a script of this folder in a separate process with `task`. Returns the last printed line. */
export function inChild(script, task) {
  return new Promise((resolve, reject) => {
    const run = spawn(peersNode(), [join(bench, script), JSON.stringify(task)], { stdio: ['pipe', 'pipe', 'inherit'] })
    let out = ''
    run.stdout.on('data', text => {
      out += text
    })
    run.on('close', code =>
      code === 0
        ? resolve(JSON.parse(out.trim().split('\n').at(-1)))
        : reject(new Error(`${task.name ?? task.script} ended with ${code}`)),
    )
  })
}
