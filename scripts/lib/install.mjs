/**
 * Dependencies of a folder, exactly as its package-lock.json says. Run under the set-up lock.
 *
 * A stamp in node_modules says for which lock file and which Node it was installed, so that the usual answer costs one
 * small read. Without a fitting stamp npm's own record is compared first: who ran `npm install` need not wait again.
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
    const patience = setInterval(() => say(`still installing (${Math.round((Date.now() - began) / 1000)} s)…`), 30_000)
    await npmInstall(folder, started).finally(() => clearInterval(patience))
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

/** Packages that the lock file wants on this machine and that are not there in that version. */
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

/** An optional package is left out on other systems, and so are the packages only it asks for, which name no system. */
function mayBeAbsent({ optional = false, devOptional = false, os, cpu, libc }) {
  if (!optional && !devOptional) return false
  const namesNone = os === undefined && cpu === undefined
  return namesNone || libc !== undefined || !fits(os, process.platform) || !fits(cpu, process.arch)
}

function fits(list, value) {
  return list === undefined || list.includes(value) || (list[0].startsWith('!') && !list.includes(`!${value}`))
}

/** missing() looks at the outcome: npm calls it a success when an optional package could not be had. */
async function npmInstall(folder, started) {
  // From nothing: npm takes a package for complete as soon as its package.json is there, even after an interruption.
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

/** The npm that runs us, or the one on PATH when something else does. */
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
