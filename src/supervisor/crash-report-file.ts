/**
 * Writes, reads and removes the files of crash reports. A crash report goes from a supervisor, which has no database, to the next process,
 * which recovers the crashed workers with the reports: a file per worker in a folder that outlives both processes.
 *
 * Invariant: a file exists completely or not at all, and stays until the reader removes the file after its work.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CrashReport } from './model/crash-report.ts'

export interface PendingCrashReport {
  worker: string
  crashReport: CrashReport
}

const ending = '.json'
const fileOf = (folder: string, worker: string): string => join(folder, worker + ending)

export function writePendingCrashReport(folder: string, { worker, crashReport }: PendingCrashReport): void {
  const file = fileOf(folder, worker)
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${file}.partial`, JSON.stringify(crashReport), { mode: 0o600 })
  renameSync(`${file}.partial`, file)
}

export function readPendingCrashReports(folder: string): PendingCrashReport[] {
  return workersIn(folder).flatMap(worker => {
    try {
      return { worker, crashReport: JSON.parse(readFileSync(fileOf(folder, worker), 'utf8')) as CrashReport }
    } catch {
      // Another engine of this process has just removed the file.
      return []
    }
  })
}

export const removePendingCrashReport = (folder: string, worker: string): void =>
  rmSync(fileOf(folder, worker), { force: true })

function workersIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter(name => name.endsWith(ending))
    return names.map(name => name.slice(0, -ending.length))
  } catch {
    // The supervisor has ended and removed its folder.
    return []
  }
}
