/** The end of the embedded server: no process stops the server while another process uses it, and the last process stops the server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { socketUrl } from '../../src/embedded-postgres/connect-probe.ts'
import type { DataDir } from '../../src/embedded-postgres/data-dir.ts'
import { openEmbedded } from '../../src/embedded-postgres/index.ts'
import { livePid } from '../../src/embedded-postgres/pidfile.ts'
import { leaveSharedUse } from '../../src/embedded-postgres/shared-use-lock.ts'
import { stopServer } from '../../src/embedded-postgres/stop-server.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { Log } from '../../src/lib/logging/log.ts'
import {
  eventually,
  guest,
  house,
  mind,
  processesBelow,
  query,
  scratch,
  serversBelow,
  signal,
  spoiltHouse,
} from './support.ts'

const open = async (dataDir: string) => mind(await openEmbedded({ dataDir, fsync: false }))

/**
 * Kills a backend as the kernel does when memory runs out: the backend of a connection that stays open, because the kill of a closing
 * backend has no effect.
 */
async function killBackend(url: string): Promise<void> {
  const [row] = await query(url, `select pid from pg_stat_activity where application_name like 'retoma keeper %'`)
  process.kill(row!.pid as number, 'SIGKILL')
}

/** Resolves when the server has noticed: it lets nobody in, or has recovered already and its old checkpointer is gone. */
async function recovering(url: string, checkpointer: number): Promise<void> {
  const text = `select pid from pg_stat_activity where backend_type = 'checkpointer'`
  const now = () =>
    query(url, text).then(
      rows => rows[0]?.pid,
      error => error.code,
    )
  await eventually(async () => {
    const seen = await now()
    return seen === '57P03' || (typeof seen === 'number' && seen !== checkpointer)
  }, 'the server recovers')
}

async function checkpointerOf(url: string): Promise<number> {
  const [row] = await query(url, `select pid from pg_stat_activity where backend_type = 'checkpointer'`)
  return row!.pid as number
}

test('who leaves when a backend has just been killed stops the server', async () => {
  const dataDir = await house()
  for (const noticed of [false, true]) {
    const mine = await open(dataDir)
    const checkpointer = await checkpointerOf(mine.url)
    await killBackend(mine.url)
    if (noticed) await recovering(mine.url, checkpointer)
    await mine.leave()
    expect(processesBelow(dataDir)).toEqual([])
  }
})

test('who leaves when a backend has just been killed does not take the server from the others', async () => {
  const dataDir = await house()
  const other = guest({ dataDir, fsync: false })
  await other.ask('open')
  const mine = await open(dataDir)
  await killBackend(mine.url)
  await mine.leave()
  await other.ask('revive')
  expect(await query(mine.url, 'select 1 as n')).toEqual([{ n: 1 }])
  await other.ask('leave')
  expect(processesBelow(dataDir)).toEqual([])
})

test('the share of a process that was killed keeps no server', async () => {
  const dataDir = await house()
  const other = guest({ dataDir, fsync: false })
  const { url } = await other.ask('open')
  const [row] = await query(url, `select pid from pg_stat_activity where application_name like 'retoma keeper %'`)
  const backend = [row!.pid as number]
  // The stopped backend continues, and notices the end of its client, only once the leaving process waits for the backend.
  const sleep = (ms: number) => {
    signal(backend, 'SIGCONT')
    return systemClock.sleep(ms)
  }
  const mine = mind(await openEmbedded({ dataDir, fsync: false, clock: { ...systemClock, sleep } }))
  signal(backend, 'SIGSTOP')
  try {
    other.kill()
    await other.exited
    await mine.leave()
    expect(processesBelow(dataDir)).toEqual([])
  } finally {
    signal(backend, 'SIGCONT')
  }
})

/** A process that has found itself the last one and has not yet stopped the server. */
async function decidedToStop(dataDir: string): Promise<pg.Client> {
  const user = guest({ dataDir, fsync: false })
  await user.ask('open')
  user.kill()
  await user.exited
  const client = new pg.Client({ connectionString: socketUrl(join(dataDir, 'socket')) })
  client.on('error', () => {})
  await client.connect()
  await eventually(() => leaveSharedUse(client), 'nobody else is in')
  return client
}

/** Resolves when somebody who wants in has tried, was refused, and tries again. */
async function turnedAway(last: pg.Client): Promise<void> {
  const tries = new Set<number>()
  await eventually(async () => {
    const { rows } = await last.query(`select pid from pg_stat_activity where application_name like 'retoma keeper %'`)
    for (const { pid } of rows) tries.add(pid)
    return tries.size > 1
  }, 'the newcomer tries a second time')
}

test('nobody comes in between the decision to stop the server and its end', async () => {
  const dataDir = await house()
  const last = await decidedToStop(dataDir)
  const coming = open(dataDir)
  await turnedAway(last)
  process.kill(serversBelow(dataDir)[0]!, 'SIGINT')
  const newcomer = await coming
  expect(newcomer.started).toBe(true)
  expect(await query(newcomer.url, 'select 1 as n')).toEqual([{ n: 1 }])
})

test('who died between that decision and the stop keeps nobody out', async () => {
  const dataDir = await house()
  const last = await decidedToStop(dataDir)
  const coming = open(dataDir)
  await turnedAway(last)
  await last.end()
  expect((await coming).started).toBe(false)
})

test('a server that does not answer is left, with a word, within seconds', async () => {
  const dataDir = await house()
  const reported: object[] = []
  const log = { warn: (facts: object) => reported.push(facts) } as unknown as Log
  const mine = mind(await openEmbedded({ dataDir, fsync: false, log }))
  const [pid] = serversBelow(dataDir)
  const frozen = processesBelow(dataDir)
  const since = process.hrtime.bigint()
  signal(frozen, 'SIGSTOP')
  try {
    await mine.leave()
    expect(Number(process.hrtime.bigint() - since) / 1e9).toBeLessThan(15)
  } finally {
    signal(frozen, 'SIGCONT')
  }
  expect(reported).toEqual([{ folder: dataDir, pid, answer: 'silent' }])

  const next = await open(dataDir)
  expect(next.started).toBe(false)
  await next.leave()
  expect(processesBelow(dataDir)).toEqual([])
})

test('data moved elsewhere behind a link: the server is found again, and stopped by the last one out', async () => {
  const dataDir = await spoiltHouse()
  const elsewhere = join(dirname(dataDir), 'disk')
  mkdirSync(elsewhere)
  renameSync(join(dataDir, 'postgres'), join(elsewhere, 'pg'))
  symlinkSync(join(elsewhere, 'pg'), join(dataDir, 'postgres'))
  const first = await open(dataDir)
  expect(serversBelow(elsewhere)).toEqual([await livePid(join(dataDir, 'postgres'))])
  const second = await open(dataDir)
  expect([first.started, second.started]).toEqual([true, false])
  await first.leave()
  await second.leave()
  expect(processesBelow(elsewhere)).toEqual([])
  expect(readdirSync(join(elsewhere, 'pg'))).not.toContain('postmaster.pid')
})

/** Told to end, it loses its name first and its folder later, as the kernel does it on a busy machine. */
const slowToEnd = `
process.title = 'postgres -D ' + process.cwd()
process.on('SIGINT', () => { process.title = ' '; setTimeout(() => process.exit(), 300) })
process.on('SIGQUIT', () => {})
setInterval(() => {}, 1000)
console.log('ready')
`

test('a server is gone when its process is, not when that has lost its name', async () => {
  const folder = scratch()
  const data = join(folder, 'postgres')
  mkdirSync(data)
  const server = spawn(process.execPath, ['-e', slowToEnd], { cwd: data, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(server.stdout!, 'data')
    writeFileSync(join(data, 'postmaster.pid'), `${server.pid}\n${data}\n`)
    expect(await livePid(data)).toBe(server.pid)
    await stopServer({ folder, data, socket: join(folder, 'socket') } as DataDir, server.pid, systemClock)
    expect(existsSync(`/proc/${server.pid}/cwd`)).toBe(false)
  } finally {
    server.kill('SIGKILL')
  }
})
