/**
 * Manages the temporary folders of initdb: a folder beside the data folder, with the pid of the creating process in the name. init-data-dir.ts
 * creates the folder; the next process that creates data removes the folders of dead processes.
 */
import { lstat, readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { randomName } from '../lib/random.ts'
import type { Owner } from './platform/file-owner.ts'
import { allPids, commandLine, exists, workingFolder } from './platform/os-processes.ts'
import { type Runner, run } from './platform/run-as-user.ts'

const prefix = 'postgres.init-'

export function newInitTempDir(folder: string): string {
  return join(folder, `${prefix}${process.pid}-${randomName('d')}`)
}

/** True if a live process creates data in this folder. */
export async function isBeingMade(folder: string): Promise<boolean> {
  return (await drafts(folder)).some(({ alive }) => alive)
}

/** Never fails: a folder that cannot be removed now does no harm, and the next process tries again. */
export async function removeAbandoned(home: Maker): Promise<void> {
  for (const { path, alive } of await drafts(home.folder)) {
    if (alive) continue
    await endMakers(path)
    await removeInitTempDir(home, path)
  }
}

interface Maker {
  folder: string
  owner: Owner
  runner: Runner
}

/** Another user may have replaced the path, so the path is removed with the rights of the owner and not with the rights of root. */
export async function removeInitTempDir({ owner, runner }: Maker, path: string): Promise<void> {
  // In a folder of root's, only root can have created an entry of root's.
  const isRoots = owner.uid === 0 && (await lstat(path).catch(() => undefined))?.uid === 0
  if (runner.as === 'self' || isRoots) return rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
  await run(runner, 'rm', ['-rf', '--', path], [path]).catch(() => {})
  if (owner.uid === 0) await rmdir(path).catch(() => {})
}

async function drafts(folder: string): Promise<{ path: string; alive: boolean }[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter(name => name.startsWith(prefix))
    .map(name => ({ path: join(folder, name), pid: Number.parseInt(name.slice(prefix.length), 10) }))
    .filter(({ pid }) => pid > 0)
    .map(({ path, pid }) => ({ path, alive: exists(pid) }))
}

/** initdb continues if only the calling process is killed. The programs started by initdb do not name the draft but work in it. */
async function endMakers(draft: string): Promise<void> {
  for (const pid of await allPids().catch(() => [])) {
    const command = await commandLine(pid)
    const isInitdb = command.some(word => word.endsWith('/initdb')) && command.join(' ').includes(`-D ${draft} `)
    const isPostgres = command[0]?.endsWith('/postgres') === true
    if (isInitdb || (isPostgres && (await workingFolder(pid)) === draft)) tryToKill(pid)
  }
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}
