/** The data folder of the embedded server: allowed folders, allowed users, and the files as npm installs the files. */
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/embedded-postgres/index.ts'
import {
  endlessPackage,
  guest,
  installedPackage,
  isRoot,
  mind,
  othersReach,
  outOfReach,
  query,
  scratch,
  serversBelow,
  spoiltHouse,
} from './support.ts'

const noNamespaces = { unshare: '/nonexistent/unshare' }

/** A package of one's own: by links, or copied where the user that the server runs as could not follow the links. */
function packageIn(folder: string): string {
  const take =
    isRoot && !othersReach ? (from: string, to: string) => cpSync(from, to, { recursive: true }) : symlinkSync
  const copy = join(folder, 'package')
  const native = join(installedPackage(), 'native')
  mkdirSync(join(copy, 'native', 'lib'), { recursive: true })
  cpSync(join(installedPackage(), 'package.json'), join(copy, 'package.json'))
  cpSync(join(native, 'bin'), join(copy, 'native', 'bin'), { recursive: true })
  cpSync(join(native, 'pg-symlinks.json'), join(copy, 'native', 'pg-symlinks.json'))
  take(join(native, 'share'), join(copy, 'native', 'share'))
  for (const name of readdirSync(join(native, 'lib')))
    take(realpathSync(join(native, 'lib', name)), join(copy, 'native', 'lib', name))
  return copy
}

/** As npm leaves it when install scripts are skipped: without its links, and the executable bits lost as well. */
function bare(folder: string): string {
  const native = join(packageIn(folder), 'native')
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) rmSync(join(folder, 'package', target))
  for (const name of readdirSync(join(native, 'bin'))) chmodSync(join(native, 'bin', name), 0o644)
  return join(folder, 'package')
}

test('install scripts skipped: the missing library links are restored', async () => {
  const folder = scratch()
  const packageFolder = bare(folder)
  const dataDir = join(folder, 'data')
  const server = mind(await openEmbedded({ dataDir, fsync: false, machine: { packageFolder: () => packageFolder } }))
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(readdirSync(dataDir).sort()).toEqual(['.gitignore', 'postgres', 'postgres.log', 'socket'])
})

test('install scripts skipped and the package not ours to write: a whole copy is used', async context => {
  if (!isRoot) return context.skip('only root can make a package that is not ours to write')
  if (!othersReach) return context.skip(outOfReach)
  const folder = scratch()
  const packageFolder = bare(folder)
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  chownSync(dataDir, 65534, 65534)
  const user = guest({ dataDir, fsync: false, package: packageFolder }, { uid: 65534 })
  expect(await user.ask('open')).toMatchObject({ started: true })
  expect(readdirSync(dataDir).filter(name => /^\.?postgresql-/.test(name))).toHaveLength(1)
})

test('git ignores a data folder that was made, and one that was there is left to its owner', async () => {
  const made = join(scratch(), 'data')
  const there = join(scratch(), 'data')
  mkdirSync(there)
  for (const dataDir of [made, there]) mind(await openEmbedded({ dataDir, fsync: false }))
  expect(readFileSync(join(made, '.gitignore'), 'utf8')).toBe('*\n')
  expect(existsSync(join(there, '.gitignore'))).toBe(false)
})

test('a data folder that was made in vain is gone again', async () => {
  const dataDir = join(scratch(), 'data')
  const packageFolder = endlessPackage(scratch())
  writeFileSync(join(packageFolder, 'native', 'bin', 'initdb'), '#!/bin/sh\n[ "$1" = --version ]\n')
  const opening = openEmbedded({ dataDir, fsync: false, machine: { packageFolder: () => packageFolder } })
  await expect(opening).rejects.toMatchObject({ code: 'postgres_failed' })
  expect(existsSync(dataDir)).toBe(false)
})

test('works below a 0700 folder', async () => {
  const locked = join(scratch(), 'locked')
  mkdirSync(locked, { mode: 0o700 })
  const dataDir = join(locked, 'data')
  const server = mind(await openEmbedded({ dataDir, fsync: false }))
  expect(server.folder).toBe(dataDir)
  expect(statSync(dataDir).mode & 0o777).toBe(0o700)
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a data path too long for a socket works, and every process finds the same one', async () => {
  const dataDir = join(scratch(), 'long'.repeat(30), 'data')
  const server = mind(await openEmbedded({ dataDir, fsync: false }))
  const socket = new URL(server.url).searchParams.get('host')!
  expect(socket.length).toBeLessThan(60)
  expect(statSync(socket).mode & 0o777).toBe(0o700)

  const other = guest({ dataDir, fsync: false }, { env: { TMPDIR: scratch() } })
  expect(await other.ask('open')).toMatchObject({ started: false, url: server.url })
  await server.leave()
  await other.ask('leave')
  expect(existsSync(socket)).toBe(false)
})

test('a folder that others may enter is refused as the place of the socket', async () => {
  const dataDir = await spoiltHouse()
  const socket = join(dataDir, 'socket')
  rmSync(socket, { recursive: true })
  symlinkSync(scratch(), socket)
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/socket, is not private/)
  rmSync(socket)
  mkdirSync(socket)
  chmodSync(socket, 0o755)
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/socket, is not private/)
})

test('a path with blanks, quotes, commas and accents works', async () => {
  const dataDir = join(scratch(), `it's "a, b" $HOME \`x\` é`)
  const server = mind(await openEmbedded({ dataDir, fsync: false }))
  expect(await query(server.url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect((await openEmbedded({ dataDir, fsync: false }).then(mind)).started).toBe(false)
})

test('runs as an ordinary user', async context => {
  if (!isRoot) return context.skip('every other test shows it')
  if (!othersReach) return context.skip(outOfReach)
  const folder = scratch()
  chownSync(folder, 65534, 65534)
  const user = guest({ dataDir: join(folder, 'data'), fsync: false }, { uid: 65534 })
  const { url, started } = await user.ask('open')
  expect(started).toBe(true)
  expect(statSync(join(folder, 'data', 'postgres')).uid).toBe(65534)

  const root = mind(await openEmbedded({ dataDir: join(folder, 'data'), fsync: false }))
  expect([root.started, root.url]).toEqual([false, url])
  await user.ask('leave')
  await root.leave()
  const again = mind(await openEmbedded({ dataDir: join(folder, 'data'), fsync: false }))
  expect(again.started).toBe(true)
  expect(statSync(`/proc/${serversBelow(folder)[0]}`).uid).toBe(65534)
})

test("where namespaces are forbidden the server runs as nobody, and the folder stays root's", async context => {
  if (!isRoot) return context.skip('only root needs it')
  if (!othersReach) return context.skip(outOfReach)
  const folder = scratch()
  const dataDir = join(folder, 'data')
  const machine = { ...noNamespaces, systemFolder: join(folder, 'system') }
  const first = mind(await openEmbedded({ dataDir, fsync: false, machine }))
  expect(first.folder).toBe(dataDir)
  expect(await query(first.url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(statSync(`/proc/${serversBelow(folder)[0]}`).uid).toBe(65534)
  expect(statSync(dataDir)).toMatchObject({ uid: 0 })
  expect(statSync(dataDir).mode & 0o777).toBe(0o711)
  await first.leave()

  const second = mind(await openEmbedded({ dataDir, fsync: false }))
  expect(second.started).toBe(true)
  expect(statSync(`/proc/${serversBelow(folder)[0]}`).uid).toBe(65534)
})

test('where nobody cannot reach the data folder nor the binaries, both are kept in a folder of the system', async context => {
  if (!isRoot) return context.skip('only root needs it')
  if (!othersReach) return context.skip(outOfReach)
  const folder = scratch()
  const locked = join(folder, 'locked')
  mkdirSync(locked, { mode: 0o700 })
  const ownPackage = packageIn(locked)
  const machine = {
    ...noNamespaces,
    systemFolder: join(folder, 'system'),
    packageFolder: () => ownPackage,
  }
  const dataDir = join(locked, 'data')
  const first = mind(await openEmbedded({ dataDir, fsync: false, machine }))
  expect(first.folder.startsWith(join(folder, 'system'))).toBe(true)
  await query(first.url, 'create table kept as select 1 as n')
  await first.leave()

  const second = mind(await openEmbedded({ dataDir, fsync: false, machine: { ...machine, unshare: 'unshare' } }))
  expect(second.folder).toBe(first.folder)
  expect(await query(second.url, 'select n from kept')).toEqual([{ n: 1 }])
})

test("data that root has copied there is handed over to the server's user", async context => {
  if (!isRoot) return context.skip('only root needs it')
  if (!othersReach) return context.skip(outOfReach)
  const dataDir = await spoiltHouse()
  const server = mind(await openEmbedded({ dataDir, fsync: false, machine: noNamespaces }))
  expect(server.folder).toBe(dataDir)
  expect(await query(server.url, 'select current_database() as db')).toEqual([{ db: 'retoma' }])
})
