/** The environment variables set by a supervisor for the supervised process only. */

/** The folder of the crash report files of the supervised process. */
export const crashReportFolderVariable = 'RETOMA_CRASH_REPORT_FOLDER'

/** The pid of the supervisor. A process started by a job inherits this variable too, and is not the supervised process. */
export const supervisorVariable = 'RETOMA_SUPERVISOR'

/** The folder of the pending crash reports of earlier processes. */
export const pendingCrashReportsVariable = 'RETOMA_PENDING_CRASH_REPORTS'

/** The number of the supervised process and the number of processes of the supervisor, such as 2/4; absent: the only process. */
export const processNumberVariable = 'RETOMA_PROCESS_NUMBER'

/** The stderr of the supervised process ends on a terminal, although the process sees a pipe. */
export const terminalVariable = 'RETOMA_TERMINAL'

/** Only the supervisor sets these variables, so none is a setting. */
export const ownVariables: readonly string[] = [
  crashReportFolderVariable,
  supervisorVariable,
  pendingCrashReportsVariable,
  processNumberVariable,
  terminalVariable,
]
