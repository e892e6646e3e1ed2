/**
 * Root starts the server in a folder of another user's, who has put links where root is about to write; and the server of root's
 * own folder is asked for what is root's. Each name that root or a server writes is tried.
 */
import { spawnSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openEmbedded } from '../../src/embedded-postgres/index.ts'
import { isRoot, mind, othersReach, outOfReach, query, scratch, serversBelow } from './support.ts'

const nobody = 65534
const noNamespaces = { unshare: '/nonexistent/unshare' }

/** A path that only root may change, and its present state. */
function victim(folder: string): { file: string; dir: string; check: () => unknown } {
  const dir = join(folder, 'roots')
  const file = join(dir, 'secret')
  mkdirSync(dir, { mode: 0o700 })
  writeFileSync(file, 'untouched', { mode: 0o600 })
  const about = (path: string) => {
    const { uid, mode } = statSync(path)
    return [uid, mode]
  }
  return { file, dir, check: () => [readFileSync(file, 'utf8'), readdirSync(dir), about(dir), about(file)] }
}

function plant(target: string, link: string): void {
  rmSync(link, { recursive: true, force: true })
  symlinkSync(target, link)
  lchownSync(link, nobody, nobody)
}

/** A data folder on the ground of nobody, with data that root had made there. */
async function foreignHouse() {
  const folder = scratch()
  const theirs = join(folder, 'theirs')
  mkdirSync(theirs)
  chownSync(theirs, nobody, nobody)
  const dataDir = join(theirs, 'data')
  await mind(await openEmbedded({ dataDir, fsync: false })).leave()
  return { folder, theirs, dataDir }
}

test('on the ground of another user all is made by that user, and root follows no link that was put there', async context => {
  if (!isRoot) return context.skip('only root works on the ground of another user')
  if (!othersReach) return context.skip(outOfReach)
  const { folder, dataDir } = await foreignHouse()
  const made = readdirSync(dataDir).sort()
  expect(made).toEqual(['.gitignore', 'postgres', 'postgres.log', 'socket'])
  expect([dataDir, ...made.map(name => join(dataDir, name))].map(path => lstatSync(path).uid)).toEqual(
    Array(made.length + 1).fill(nobody),
  )
  const { file, dir, check } = victim(folder)
  const before = check()

  // The log: refused, by name.
  plant(file, join(dataDir, 'postgres.log'))
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/postgres\.log in it is a link/)
  rmSync(join(dataDir, 'postgres.log'))
  // A second name of a file of root's is no better.
  spawnSync('ln', [file, join(dataDir, 'postgres.log')])
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(
    /postgres\.log in it is a link, or no plain file/,
  )
  rmSync(join(dataDir, 'postgres.log'))
  // A pipe that nobody reads keeps nobody waiting.
  spawnSync('mkfifo', [join(dataDir, 'postgres.log')])
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(
    /postgres\.log in it is a link, or no plain file/,
  )
  rmSync(join(dataDir, 'postgres.log'))

  // The folder of the socket.
  plant(dir, join(dataDir, 'socket'))
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/socket, is not private/)
  rmSync(join(dataDir, 'socket'))

  // The address is written in the place of the link, not through it; and the log that is put aside takes nothing along.
  plant(file, join(dataDir, 'address'))
  plant(file, join(dataDir, 'postgres.log.1'))
  writeFileSync(join(dataDir, 'postgres.log'), 'x'.repeat(1_000_001))
  const server = mind(await openEmbedded({ dataDir, fsync: false }))
  expect(await server.reserve('http://here')).toBe(undefined)
  expect(readFileSync(join(dataDir, 'address'), 'utf8')).toBe('http://here\n')
  expect(lstatSync(join(dataDir, 'postgres.log.1')).isFile()).toBe(true)
  await server.leave()
  expect(existsSync(join(dataDir, 'address'))).toBe(false)

  // PostgreSQL's own notes are read by root, too.
  plant(file, join(dataDir, 'postgres', 'postmaster.pid'))
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toMatchObject({ code: 'data_unreadable' })
  rmSync(join(dataDir, 'postgres', 'postmaster.pid'))
  expect(check()).toEqual(before)
})

test('a link of another user in the place of the data folder, or of the data, leads root nowhere', async context => {
  if (!isRoot) return context.skip('only root works on the ground of another user')
  if (!othersReach) return context.skip(outOfReach)
  const folder = scratch()
  const theirs = join(folder, 'theirs')
  mkdirSync(theirs)
  chownSync(theirs, nobody, nobody)
  const { dir, check } = victim(folder)
  const before = check()
  const dataDir = join(theirs, 'data')

  plant(dir, dataDir)
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/a link of the user with uid 65534/)
  // Nor to what is not there yet.
  plant(join(dir, 'new'), dataDir)
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/a link of the user with uid 65534/)
  // Nor by a folder above.
  plant(folder, join(theirs, 'above'))
  const above = join(theirs, 'above', 'roots', 'data')
  await expect(openEmbedded({ dataDir: above, fsync: false })).rejects.toThrow(/a link of the user with uid 65534/)

  // The data itself, and what an earlier process left half made.
  rmSync(dataDir)
  mkdirSync(dataDir, { mode: 0o700 })
  chownSync(dataDir, nobody, nobody)
  plant(dir, join(dataDir, 'postgres'))
  await expect(openEmbedded({ dataDir, fsync: false })).rejects.toMatchObject({ code: 'data_unreadable' })
  rmSync(join(dataDir, 'postgres'))
  plant(dir, join(dataDir, 'postgres.init-4194305-d-x'))
  mkdirSync(join(dataDir, 'postgres.init-4194306-d-y'))
  plant(dir, join(dataDir, 'postgres.init-4194306-d-y', 'deep'))
  await mind(await openEmbedded({ dataDir, fsync: false })).leave()
  expect(check()).toEqual(before)

  // A link to something of one's own is one's own affair.
  const own = join(theirs, 'large disk')
  mkdirSync(own, { mode: 0o700 })
  chownSync(own, nobody, nobody)
  plant(own, join(theirs, 'linked'))
  const server = mind(await openEmbedded({ dataDir: join(theirs, 'linked'), fsync: false }))
  expect(server.folder).toBe(own)
})

test('a socket folder that another user has made in /tmp is refused', async context => {
  if (!isRoot) return context.skip('only root works beside another user')
  const dataDir = join(scratch(), 'long'.repeat(30), 'data')
  const server = mind(await openEmbedded({ dataDir, fsync: false }))
  const socket = new URL(server.url).searchParams.get('host')!
  await server.leave()
  const { dir, check } = victim(scratch())
  const before = check()
  try {
    plant(dir, socket)
    await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/is not private/)
    rmSync(socket)
    mkdirSync(socket, { mode: 0o700 })
    chownSync(socket, 1234, 1234)
    await expect(openEmbedded({ dataDir, fsync: false })).rejects.toThrow(/is not private/)
  } finally {
    rmSync(socket, { recursive: true, force: true })
  }
  expect(check()).toEqual(before)
})

// Only root becomes somebody else.
describe.runIf(isRoot && othersReach)('run by root', () => {
  test.each([
    ['with a view of its own', {}],
    ['where namespaces are forbidden', noNamespaces],
  ])("the server cannot read, write or run anything of root's, %s", async (how, machine) => {
    const folder = scratch()
    const { file, check } = victim(folder)
    const before = check()
    const closed = join(folder, 'closed')
    mkdirSync(closed, { mode: how.includes('view') ? 0o700 : 0o755 })
    const dataDir = join(closed, 'data')
    const own = { ...machine, systemFolder: join(folder, 'system') }
    const server = mind(await openEmbedded({ dataDir, fsync: false, machine: own }))
    expect(server.folder).toBe(dataDir)
    const [pid] = serversBelow(folder)
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m)
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Groups:\t *(65534 *)?$/m)
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^CapEff:\t0+$/m)
    expect(readlinkSync(`/proc/${pid}/ns/user`)).toBe(readlinkSync('/proc/self/ns/user'))
    const ask = (text: string) => query(server.url, text).then(JSON.stringify, (error: Error) => error.message)
    expect(await ask(`select pg_read_file('${file}')`)).toMatch(/Permission denied|No such file/)
    expect(await ask(`copy (select 'x') to '${file}'`)).toMatch(/Permission denied|No such file/)
    expect(await ask(`copy (select 'x') to '/root/retoma-was-here'`)).toMatch(/Permission denied/)
    await query(server.url, 'create table said (line text)')
    await query(server.url, `copy said from program 'cat ${file} 2>&1; id -u'`)
    const said = JSON.stringify(await query(server.url, 'select line from said'))
    expect(said).toContain('65534')
    expect(said).not.toContain('untouched')
    expect(check()).toEqual(before)
  })
})
