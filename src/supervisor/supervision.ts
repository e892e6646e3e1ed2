/**
 * Tells whether a supervisor started this process, and the folders that the supervisor gave to the process. Reads the environment at every
 * call: a process whose supervisor has died is not supervised any more.
 */
import {
  crashReportFolderVariable,
  pendingCrashReportsVariable,
  processNumberVariable,
  supervisorVariable,
  terminalVariable,
} from '../lib/process/supervisor-variables.ts'
import { hasStatusFile, writeStatusFile } from './status-files.ts'

export interface ProcessPlace {
  number: number
  /** The number of processes. */
  of: number
}

/** One object per engine; the command line makes the object for its engine. */
export class Supervision {
  /** The folder of the files for the crash report of this process; undefined: no supervisor. */
  get reportFolder(): string | undefined {
    return ours(crashReportFolderVariable)
  }

  /** The folder of the crash reports of earlier processes; undefined: no supervisor. */
  get pendingReportsFolder(): string | undefined {
    return ours(pendingCrashReportsVariable)
  }

  /** The number of this process among the processes of its supervisor, from 1. */
  get place(): ProcessPlace {
    const [number = 1, of = 1] = ours(processNumberVariable)?.split('/').map(Number) ?? []
    return { number, of }
  }

  /**
   * Makes this process, the only process of its supervisor, the first of two: the supervisor starts the second process after the first
   * claim of this process. Returns false if there is no supervisor.
   */
  askForSecondProcess(): boolean {
    const folder = this.reportFolder
    writeStatusFile(folder, 'second')
    if (folder === undefined || !hasStatusFile(folder, 'second')) return false
    process.env[processNumberVariable] = '1/2'
    return true
  }

  /** True if stderr of the supervisor is a terminal. */
  get hasTerminal(): boolean {
    return ours(terminalVariable) !== undefined
  }
}

/** A variable set by the supervisor for this process, and not for processes started by this process. */
function ours(variable: string): string | undefined {
  const supervisor = process.env[supervisorVariable]
  if (supervisor !== undefined && supervisor !== String(process.ppid)) return undefined
  return process.env[variable] || undefined
}
