/**
 * Tells whether a supervisor started this process, and the folders that the supervisor gave to the process. Reads the environment at every
 * call: a process whose supervisor has died is not supervised any more.
 */
import {
  crashReportFolderVariable,
  pendingCrashReportsVariable,
  supervisorVariable,
  terminalVariable,
} from '../lib/supervisor-variables.ts'

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
