/** Shared parts of the tests of the embedded server: temporary folders, processes to kill, waits. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, expect } from 'vitest'
import { type EmbeddedOptions, type EmbeddedPostgres, openEmbedded } from '../../src/embedded-postgres/index.ts'
import { systemClock } from '../../src/lib/clock.ts'

export const isRoot = process.geteuid?.() === 0

/** As root: whether another user can read this checkout, and so run a guest from it. */
export const othersReach =
  isRoot &&
  spawnSync(process.execPath, ['-e', `fs.accessSync(${JSON.stringify(fileURLToPath(import.meta.url))})`], {
    uid: 65534,
    gid: 65534,
    cwd: '/',
  }).status === 0

export const outOfReach = 'this checkout lies below a folder that only root may enter'

type GuestOptions = Partial<EmbeddedOptions> & { package?: string }
type Answer = { url: string; folder: string; started: boolean; code?: string; message?: string }

const folders: string[] = []
const guests: Guest[] = []
const servers: EmbeddedPostgres[] = []

/** Guests leave in order, then nothing may be left of any server. */
afterEach(async () => {
  for (const guest of guests.splice(0)) {
    if (guest.process.exitCode === null && guest.process.signalCode === null)
      await Promise.race([guest.ask('leave'), systemClock.sleep(30_000)])
    guest.kill()
  }
  for (const server of servers.splice(0)) await server.leave()
  const mine = folders.splice(0)
  const left = [...mine, ...(made ? [await made] : [])].flatMap(processesBelow)
  signal(left, 'SIGKILL')
  for (const folder of mine) rmSync(folder, { recursive: true, force: true })
  expect(left, 'server processes left behind').toEqual([])
})

/** A private folder that everybody may enter, gone after the test. */
export function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-pg-')))
  chmodSync(folder, 0o755)
  folders.push(folder)
  return folder
}

/** A data folder where the first start has happened already; the tests of a file share it, one after the other. */
export async function house(): Promise<string> {
  made ??= makeHouse()
  return made
}

/** A copy of the house, for tests that spoil it. */
export async function spoiltHouse(): Promise<string> {
  const dataDir = join(scratch(), 'data')
  cpSync(await house(), dataDir, { recursive: true })
  for (const name of ['', 'postgres', 'socket']) chmodSync(join(dataDir, name), 0o700)
  return dataDir
}

let made: Promise<string> | undefined
let roomFolder: string | undefined

/** The temporary folder of guests: one of another user writes there, too. */
function room(): string {
  if (roomFolder) return roomFolder
  roomFolder = mkdtempSync(join(tmpdir(), 'retoma-pg-room-'))
  chmodSync(roomFolder, 0o777)
  return roomFolder
}

async function makeHouse(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'retoma-pg-house-')))
  await (await openEmbedded({ dataDir: folder, fsync: false })).leave()
  return folder
}

afterAll(async () => {
  for (const folder of [await made, roomFolder]) if (folder) rmSync(folder, { recursive: true, force: true })
})

export function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  return dirname(dirname(createRequire(import.meta.url).resolve(name)))
}

/**
 * The real programs, for a package that begins them by a script: where the user that the server runs as cannot enter this checkout, as a
 * copy in that package, which the server is shown.
 */
function realNative(copy: string): string {
  const real = join(installedPackage(), 'native')
  if (!isRoot || othersReach) return real
  const own = join(copy, 'native', 'real')
  if (!existsSync(own)) cpSync(real, own, { recursive: true, verbatimSymlinks: true })
  return own
}

/** Quotes a path as one word of sh. */
export function quoted(path: string): string {
  return `'${path.replaceAll("'", `'\\''`)}'`
}

/** A PostgreSQL whose initdb goes on writing, whether anybody listens or not, until its folder is gone. */
export function endlessPackage(folder: string): string {
  const copy = slowPackage(folder, join(folder, 'launches'))
  const script = `#!/bin/sh\nn=0\nwhile mkdir "$2/$n"; do n=$((n + 1)); done\n`
  writeFileSync(join(copy, 'native', 'bin', 'initdb'), script)
  return copy
}

/** A PostgreSQL whose note is taken away as soon as it is there, as by one that was launched at the same moment. */
export function notelessPackage(folder: string): string {
  const copy = slowPackage(folder, join(folder, 'launches'))
  const server = quoted(join(realNative(copy), 'bin', 'postgres'))
  const script = `#!/bin/sh
[ "$1" = -D ] || exec ${server} "$@"
(while ! rm "$2/postmaster.pid"; do sleep 0.01; done) 2> /dev/null &
exec ${server} "$@"
`
  writeFileSync(join(copy, 'native', 'bin', 'postgres'), script)
  return copy
}

/** A PostgreSQL that, launched, writes its pid into a file and does nothing more. */
export function stuckPackage(folder: string, pid: string): string {
  const copy = slowPackage(folder, join(folder, 'launches'))
  const script = `#!/bin/sh\n[ "$1" = -D ] || exit 0\necho $$ > ${quoted(pid)}\nexec sleep 600\n`
  writeFileSync(join(copy, 'native', 'bin', 'postgres'), script)
  return copy
}

/** A PostgreSQL that notes each launch in a file and takes a second before it begins. */
export function slowPackage(folder: string, launches: string): string {
  const copy = join(folder, 'slow')
  mkdirSync(join(copy, 'native', 'bin'), { recursive: true })
  // The program that writes there may be another user's.
  for (const each of [folder, dirname(launches)]) chmodSync(each, 0o1777)
  cpSync(join(installedPackage(), 'package.json'), join(copy, 'package.json'))
  for (const name of ['initdb', 'postgres']) {
    const wait = name === 'postgres' ? `if [ "$1" = -D ]; then echo >> ${quoted(launches)}; sleep 1; fi\n` : ''
    const file = join(copy, 'native', 'bin', name)
    writeFileSync(file, `#!/bin/sh\n${wait}exec ${quoted(join(realNative(copy), 'bin', name))} "$@"\n`, { mode: 0o755 })
  }
  return copy
}

/** Has it left at the end of the test, whatever happens. */
export function mind(server: EmbeddedPostgres): EmbeddedPostgres {
  servers.push(server)
  return server
}

export interface Guest {
  process: ChildProcess
  ask(order: 'open' | 'revive' | 'leave' | 'test-server'): Promise<Answer>
  tell(order: 'finish' | 'exit'): void
  kill(signal?: NodeJS.Signals): void
  exited: Promise<number | null>
}

export function guest(
  options: GuestOptions,
  how: { uid?: number; wrap?: string[]; env?: Record<string, string>; detached?: boolean } = {},
): Guest {
  const script = fileURLToPath(new URL('./guest.mjs', import.meta.url))
  const command = [...(how.wrap ?? []), process.execPath, script, JSON.stringify(options)]
  const child = spawn(command[0]!, command.slice(1), {
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: room(), ...how.env },
    detached: how.detached ?? false,
    ...(how.uid === undefined ? {} : { uid: how.uid, gid: how.uid }),
  })
  const answers = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const exited = new Promise<number | null>(resolve => child.on('exit', resolve))
  const it: Guest = {
    process: child,
    exited,
    async ask(order) {
      child.stdin!.write(`${order}\n`)
      const { value, done } = await answers.next()
      if (done) throw new Error(`the guest ended before it answered ${order}`)
      return JSON.parse(value) as Answer
    },
    tell: order => void child.stdin!.write(`${order}\n`),
    kill(signal = 'SIGKILL') {
      if (child.exitCode === null) child.kill(signal)
    },
  }
  guests.push(it)
  return it
}

export async function eventually(
  condition: () => boolean | Promise<boolean>,
  what: string,
  seconds = 60,
): Promise<void> {
  const deadline = systemClock.now().getTime() + seconds * 1000
  while (!(await condition())) {
    if (systemClock.now().getTime() > deadline) throw new Error(`not within ${seconds} s: ${what}`)
    await systemClock.sleep(20)
  }
}

export async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Every process of a server whose data lies below the folder: the postmaster and all its children. */
export function processesBelow(folder: string): number[] {
  return allPids().filter(pid => {
    const cwd = link(`/proc/${pid}/cwd`)
    return cwd?.startsWith(`${folder}/`) && link(`/proc/${pid}/exe`)?.endsWith('/postgres')
  })
}

/** Every process with this in its command line. */
export function commandsWith(text: string): number[] {
  return allPids().filter(pid => commandOf(pid).includes(text))
}

/** Postmasters only. A child that was forked a moment ago still has its server's command line, but is its child. */
export function serversBelow(folder: string): number[] {
  const all = processesBelow(folder)
  return all.filter(pid => /postgres\0-D\0/.test(commandOf(pid)) && !all.includes(parentOf(pid)))
}

/** To each that is still there: a backend that was seen may have ended since. */
export function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

export function can(...command: string[]): boolean {
  return spawnSync(command[0]!, command.slice(1), { stdio: 'ignore' }).status === 0
}

function allPids(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0)
}

function commandOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`)
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(textOf(`/proc/${pid}/status`))?.[1])
}

/** Empty when the process is no longer there. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function link(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
