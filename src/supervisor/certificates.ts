/**
 * Death certificates on their way from a supervisor, which has no database, to the next process it starts, which buries the
 * dead with them: a file for each worker in a folder that outlives both.
 *
 * Invariant: a file is there whole or not at all, and until whoever took it says that it has done its duty.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Death } from '../core/death.ts'
import { certificatesVariable, ours } from './papers.ts'

export const certificatesFolder = (): string | undefined => ours(certificatesVariable)

export interface Certificate {
  worker: string
  death: Death
}

const ending = '.json'
const fileOf = (folder: string, worker: string): string => join(folder, worker + ending)

export function writeCertificate(folder: string, { worker, death }: Certificate): void {
  const file = fileOf(folder, worker)
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${file}.partial`, JSON.stringify(death), { mode: 0o600 })
  renameSync(`${file}.partial`, file)
}

export function readCertificates(folder: string): Certificate[] {
  return workersIn(folder).flatMap(worker => {
    try {
      return { worker, death: JSON.parse(readFileSync(fileOf(folder, worker), 'utf8')) as Death }
    } catch {
      // Another engine of this process has just removed it.
      return []
    }
  })
}

export const removeCertificate = (folder: string, worker: string): void =>
  rmSync(fileOf(folder, worker), { force: true })

function workersIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter(name => name.endsWith(ending))
    return names.map(name => name.slice(0, -ending.length))
  } catch {
    // The supervisor has gone and taken its folder with it.
    return []
  }
}
