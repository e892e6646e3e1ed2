/**
 * Names the job that ends a supervised process, if the async context knows the job (execution/current-job.ts): an uncaught error, an unhandled
 * rejection, or `process.exit` in a handler. A crash without a named job is unexplained.
 *
 * Invariant: the recorder only observes. The process ends as without the recorder: same message, same exit code.
 */

import { restartCode, type SuspectedJob } from './model/crash-report.ts'
import { hasStatusFile } from './status-files.ts'
import { recordSuspectedJob } from './suspected-job-file.ts'

export interface CrashRecorderOptions {
  reportFolder: string
  /** The job of the running code. */
  current: () => { id: string; attempt: number } | undefined
}

/** Returns a function that removes the recorder. */
export function recordCrashes({ reportFolder, current }: CrashRecorderOptions): () => void {
  const name = (how: SuspectedJob['how'], message: string, stack: string | null) => {
    const job = current()
    if (job !== undefined) recordSuspectedJob(reportFolder, { job: job.id, attempt: job.attempt, how, message, stack })
  }
  // This monitor runs before listeners that may keep the process alive. If there is such a listener, nothing ends here; if the listener
  // calls `process.exit`, the exit handler records the job.
  const uncaught = (error: unknown) => {
    if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return
    if (error instanceof Error) name('uncaught', `${error.name}: ${error.message}`, error.stack ?? null)
    else name('uncaught', textOf(error), null)
  }
  const exit = (code: number) => {
    // A process that stops on request or for a restart interrupts no work, so no job is named.
    if (code !== restartCode && !hasStatusFile(reportFolder, 'asked'))
      name('exit', `exit code ${code}`, new Error('process.exit').stack ?? null)
  }
  process.on('uncaughtExceptionMonitor', uncaught)
  process.on('exit', exit)
  return () => {
    process.off('uncaughtExceptionMonitor', uncaught)
    process.off('exit', exit)
  }
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that has no text'
  }
}
