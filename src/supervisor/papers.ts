/**
 * The papers a supervised process leaves behind: which attempts it has started, and, where it can tell, which job ends it.
 * Plain files in a folder that its supervisor made and reads after its death. Writing is synchronous: the next moment may be
 * its last. Used by threads, too: nothing here has a state.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Culprit } from '../core/death.ts'
import { papersVariable, supervisorVariable } from '../lib/supervisor-variables.ts'

export {
  certificatesVariable,
  ownVariables,
  papersVariable,
  supervisorVariable,
  terminalVariable,
} from '../lib/supervisor-variables.ts'

export const papersFolder = (): string | undefined => ours(papersVariable)

/** A variable that a supervisor has set, for this process and for none that it starts. */
export function ours(variable: string): string | undefined {
  const supervisor = process.env[supervisorVariable]
  if (supervisor !== undefined && supervisor !== String(process.ppid)) return undefined
  return process.env[variable] || undefined
}

const culpritFile = (folder: string): string => join(folder, 'culprit.json')

/** Of its message and of its stack, in characters. */
const longest = 20_000

/** The first one named is it: what follows is the process coming down. Never throws: there is nobody left to tell. */
export function nameCulprit(folder: string, culprit: Culprit): void {
  try {
    const { message, stack } = culprit
    const short = { ...culprit, message: message.slice(0, longest), stack: stack?.slice(0, longest) ?? null }
    writeFileSync(culpritFile(folder), JSON.stringify(short), { flag: 'wx' })
  } catch {
    // Named already, or the folder is gone: then the death is unexplained.
  }
}

/** Null: none was named, or its process died while it wrote. */
export function readCulprit(folder: string): Culprit | null {
  try {
    const read = JSON.parse(readFileSync(culpritFile(folder), 'utf8')) as Culprit
    const isOne = /^\d{1,19}$/.test(read.job) && Number.isInteger(read.attempt) && typeof read.message === 'string'
    return isOne ? read : null
  } catch {
    return null
  }
}
