/**
 * Writes and reads the file that names the suspected job: the job that ends a supervised process. A plain file in a folder made by the
 * supervisor, which reads the file after the end of the process and puts the job into the crash report (build-crash-report.ts). The write
 * is synchronous, because the process may end at the next instruction. Threads use this file too: nothing here has state.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SuspectedJob } from './model/crash-report.ts'

export {
  crashReportFolderVariable,
  ownVariables,
  pendingCrashReportsVariable,
  processNumberVariable,
  supervisorVariable,
  terminalVariable,
} from '../lib/process/supervisor-variables.ts'

const suspectedJobFile = (folder: string): string => join(folder, 'suspected-job.json')

/** The maximum length of message and stack, in characters. */
const longest = 20_000

/**
 * Names the job that ends the process. Only the first name counts: later errors come from the ending process. Never throws, because no
 * caller could handle the error.
 */
export function recordSuspectedJob(folder: string, suspectedJob: SuspectedJob): void {
  try {
    const { message, stack } = suspectedJob
    const short = { ...suspectedJob, message: message.slice(0, longest), stack: stack?.slice(0, longest) ?? null }
    writeFileSync(suspectedJobFile(folder), JSON.stringify(short), { flag: 'wx' })
  } catch {
    // A job is already named, or the folder is gone: the crash is then unexplained.
  }
}

/** Null: no job was named, or the process ended during the write. */
export function readSuspectedJob(folder: string): SuspectedJob | null {
  try {
    const read = JSON.parse(readFileSync(suspectedJobFile(folder), 'utf8')) as SuspectedJob
    const isOne = /^\d{1,19}$/.test(read.job) && Number.isInteger(read.attempt) && typeof read.message === 'string'
    return isOne ? read : null
  } catch {
    return null
  }
}
