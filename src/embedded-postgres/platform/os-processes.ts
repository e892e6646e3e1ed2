/** Reads facts about a process from the system: existence, command line, working folder. A process is never identified by name alone. */
import { execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'

export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Empty if the process does not exist or is a zombie. Without /proc, split at every blank. */
export async function commandLine(pid: number): Promise<string[]> {
  try {
    if (process.platform === 'linux') return (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
    return (await ps(['-p', String(pid)])).split(' ')
  } catch {
    return []
  }
}

/** A path without links; undefined if the system does not show the folder. */
export function workingFolder(pid: number): Promise<string | undefined> {
  return readlink(`/proc/${pid}/cwd`).catch(() => undefined)
}

/** undefined if the process does not exist or the system does not show the parent. */
export async function parentOf(pid: number): Promise<number | undefined> {
  try {
    const text =
      process.platform === 'linux'
        ? /^PPid:\s+(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
        : await ps(['-p', String(pid)], 'ppid=')
    return Number(text) || undefined
  } catch {
    return undefined
  }
}

export async function allPids(): Promise<number[]> {
  const names = process.platform === 'linux' ? await readdir('/proc') : (await ps(['-A'], 'pid=')).split('\n')
  return names.map(Number).filter(pid => pid > 1)
}

async function ps(which: string[], what = 'command='): Promise<string> {
  return (await promisify(execFile)('ps', ['-ww', '-o', what, ...which])).stdout
}
