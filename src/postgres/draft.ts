/**
 * Data in the making: a folder beside the data, named after the process that makes it. Made by init.ts; whoever makes
 * data next removes what dead processes left.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { randomName } from '../lib/random.ts'
import { allPids, commandLine, exists, workingFolder } from './processes.ts'

const prefix = 'postgres.init-'

export function newDraft(folder: string): string {
  return join(folder, `${prefix}${process.pid}-${randomName('d')}`)
}

/** Whether a live process makes data in this folder. */
export async function isBeingMade(folder: string): Promise<boolean> {
  return (await drafts(folder)).some(({ alive }) => alive)
}

/** Never fails: what cannot be removed now harms nobody, and is tried again by the next. */
export async function removeAbandoned(folder: string): Promise<void> {
  for (const { path, alive } of await drafts(folder)) {
    if (alive) continue
    await endMakers(path)
    await removeDraft(path)
  }
}

export async function removeDraft(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
}

async function drafts(folder: string): Promise<{ path: string; alive: boolean }[]> {
  const names = await readdir(folder).catch(() => [])
  return names
    .filter(name => name.startsWith(prefix))
    .map(name => ({ path: join(folder, name), pid: Number.parseInt(name.slice(prefix.length), 10) }))
    .filter(({ pid }) => pid > 0)
    .map(({ path, pid }) => ({ path, alive: exists(pid) }))
}

/** initdb goes on when only the process that ran it is killed. Its own programs do not name the draft but work in it. */
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
