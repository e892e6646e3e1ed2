/**
 * Prepares a clone: dependencies as locked, dist/ built from src/. Every other script calls `setup` first; without work
 * to do, `setup` prints nothing and takes a few milliseconds. Plain Node, because the script runs before the install. As
 * a command: `node scripts/setup.mjs [--build]`. Messages go to stderr: `npm pack --json` owns stdout.
 */
import { realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { fileURLToPath } from 'node:url'
import { build, isBuilt } from './lib/build.mjs'
import { endChildren } from './lib/children.mjs'
import { install, isInstalled } from './lib/install.mjs'
import { takeLock } from './lib/lock.mjs'
import { inRoot, root } from './lib/paths.mjs'
import { giveUp, Trouble } from './lib/trouble.mjs'

const say = line => console.error(line)

/**
 * `servers`: the oldest supported PostgreSQL and a refused PostgreSQL; `examples`: the dependencies of the examples; `next`: the dependencies of the example with Next.js; `runtimes`: Node, Bun, Deno, compilers and test runners. Only
 * tests and checks need the four.
 */
export async function setup({
  build: wantsBuild = false,
  servers = false,
  examples = false,
  next = false,
  runtimes = false,
} = {}) {
  refuseWhatCannotWork()
  const folders = [
    root,
    ...(servers ? [inRoot('test', 'oldest'), inRoot('test', 'too-old')] : []),
    ...(examples ? [inRoot('examples')] : []),
    ...(next ? [inRoot('test', 'next')] : []),
    ...(runtimes ? [inRoot('test', 'runtimes')] : []),
  ]
  const ready = () => folders.every(isInstalled) && (!wantsBuild || isBuilt())
  if (ready()) return

  await whileInterruptible(async held => {
    const lock = await takeLock(inRoot('.setup.lock'), pid =>
      say(`waiting for another set-up of this folder (${pid})…`),
    )
    held(lock)
    for (const folder of folders) {
      if (!isInstalled(folder)) await install(folder, { say, started: lock.names })
    }
    if (wantsBuild && !isBuilt()) await build({ say, started: lock.names })
  })
}

function refuseWhatCannotWork() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 12)) {
    throw new Trouble(
      `Retoma needs Node 20.12 or newer and this is ${process.version}; install a newer one from https://nodejs.org and run the same command again`,
    )
  }
  if (process.platform === 'win32') {
    throw new Trouble('on Windows, Retoma runs inside WSL2: open a WSL2 shell, clone it there and run the same command')
  }
}

/** A signal ends the work at once: children first, then the lock, then us. */
async function whileInterruptible(work) {
  let release = () => {}
  const stop = signal => endChildren().then(() => process.exit(128 + constants.signals[signal]))
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const atExit = () => release()
  for (const signal of signals) process.on(signal, stop)
  process.once('exit', atExit)
  try {
    await work(lock => {
      release = lock.release
    })
  } finally {
    release()
    process.off('exit', atExit)
    for (const signal of signals) process.off(signal, stop)
  }
}

const isCommand = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
if (isCommand) await setup({ build: process.argv.includes('--build') }).catch(giveUp)
