/**
 * Installs the dependencies of a folder exactly as in package-lock.json. Run under the set-up lock. A stamp in
 * node_modules names the lock file and the Node version of the install, so the usual check costs a small read. Without
 * a matching stamp, npm's record is compared first: after a manual `npm install` no second install is necessary.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { run } from './children.mjs'
import { root } from './paths.mjs'
import { Trouble } from './trouble.mjs'

const machine = `node-${process.versions.node.split('.')[0]} ${process.platform} ${process.arch}`

export function isInstalled(folder) {
  return readStamp(folder) === wantedStamp(folder)
}

export async function install(folder, { say, started }) {
  const stamp = readStamp(folder)
  const sameMachine = stamp === undefined || stamp.endsWith(machine)
  if (!sameMachine || missing(folder).length > 0) {
    say('installing dependencies…')
    const began = Date.now()
    const notices = setInterval(() => say(`still installing (${Math.round((Date.now() - began) / 1000)} s)…`), 30_000)
    await npmInstall(folder, started).finally(() => clearInterval(notices))
    const absent = missing(folder)
    if (absent.length > 0) {
      say(`npm left out ${absent.join(', ')}; this is tried again at the next start`)
      return
    }
  }
  // npm makes no folder when nothing is for this machine.
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  writeFileSync(stampFile(folder), wantedStamp(folder))
}

const stampFile = folder => join(folder, 'node_modules', '.retoma-installed')

function wantedStamp(folder) {
  const lock = readFileSync(join(folder, 'package-lock.json'))
  return `${createHash('sha256').update(lock).digest('hex')} ${machine}`
}

function readStamp(folder) {
  try {
    return readFileSync(stampFile(folder), 'utf8')
  } catch {
    return undefined
  }
}

/** Returns the packages of the lock file for this machine which are absent or present in another version. */
function missing(folder) {
  const wanted = packagesIn(join(folder, 'package-lock.json'))
  const present = packagesIn(join(folder, 'node_modules', '.package-lock.json'))
  return Object.keys(wanted).filter(path => {
    if (path === '') return false
    const found = present[path]
    if (found === undefined) return !mayBeAbsent(wanted[path])
    return found.version !== wanted[path].version || !existsSync(join(folder, path, 'package.json'))
  })
}

function packagesIn(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return {}
  }
}

/**
 * An optional package is absent on other systems, and so are the dependencies of only such a package, which name no
 * system.
 */
function mayBeAbsent({ optional = false, devOptional = false, os, cpu, libc }) {
  if (!optional && !devOptional) return false
  const namesNone = os === undefined && cpu === undefined
  return namesNone || libc !== undefined || !fits(os, process.platform) || !fits(cpu, process.arch)
}

function fits(list, value) {
  return list === undefined || list.includes(value) || (list[0].startsWith('!') && !list.includes(`!${value}`))
}

/** missing() checks the outcome, because npm succeeds even if an optional package is unavailable. */
async function npmInstall(folder, started) {
  // From an empty folder: npm regards a package as complete as soon as package.json exists, even after an
  // interruption.
  rmSync(join(folder, 'node_modules'), { recursive: true, force: true })
  const [command, ...before] = npm()
  // Said in full, because NODE_ENV=production, an omit setting or `npm pack --dry-run` would otherwise reach this npm.
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--dry-run=false',
    '--loglevel=error',
    '--no-audit',
    '--no-fund',
  ]
  const { ok, how, output } = await run(command, [...before, ...args], { cwd: folder, started }).catch(error => {
    throw new Trouble(`npm could not be started (${error.message}); install Node with npm from https://nodejs.org`)
  })
  if (ok) return
  const where = relative(root, folder) || 'this folder'
  const lines = output
    .split('\n')
    .filter(line => /^npm (error|ERR!) +(?!at )\S/.test(line))
    .slice(0, 12)
  const details = (lines.length > 0 ? lines : output.split('\n').slice(-12)).join('\n')
  throw new Trouble(`${details}\ninstalling dependencies in ${where} failed (npm ci, ${how}); ${advice(output)}`)
}

/** The npm which runs this script, or else npm on the PATH. */
function npm() {
  const path = process.env.npm_execpath
  return path && /^npm-cli\.c?js$/.test(basename(path)) && existsSync(path) ? [process.execPath, path] : ['npm']
}

function advice(output) {
  if (/^npm \S+ Missing: .* from lock file/m.test(output)) return '`node scripts/lock.mjs` completes the lock file'
  if (/ENOSPC/.test(output)) return 'the disk is full: free about 500 MB and run the same command again'
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return 'npm may not write there: make the folder writable, or set npm_config_cache to a folder that is, and try again'
  }
  if (/ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|socket|network|E40[134]/.test(output)) {
    return 'npm did not get an answer from its registry: check the network, the proxy and `npm config get registry`, and try again'
  }
  return 'the lines above say why; put that right and run the same command again'
}
