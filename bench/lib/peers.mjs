/** The peers of package.json, and the Node they run on: some need 22, which comes from npm too. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const bench = dirname(dirname(fileURLToPath(import.meta.url)))

export function installPeers() {
  if (['graphile-worker', '@dbos-inc/dbos-sdk'].every(name => existsSync(join(bench, 'node_modules', name)))) return
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: bench, stdio: ['ignore', 'ignore', 'inherit'] })
}

export function peersNode() {
  const shipped = join(bench, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  return existsSync(shipped) ? shipped : process.execPath
}
