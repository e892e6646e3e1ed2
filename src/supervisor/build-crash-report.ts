/** Builds crash reports from the files of an ended process: a report per worker, each with the attempts of this worker. */

import type { PendingCrashReport } from './crash-report-file.ts'
import { readInFlightJournal } from './in-flight-journal.ts'
import { type CrashObservation, type CrashReport, makeCrashReport } from './model/crash-report.ts'
import { hasStatusFile } from './status-files.ts'
import { readSuspectedJob } from './suspected-job-file.ts'

export interface CrashFacts {
  /** The report of the whole process, with all attempts in flight. */
  crashReport: CrashReport
  pendingReports: PendingCrashReport[]
}

export function buildCrashReports(
  reportFolder: string,
  end: Omit<CrashObservation, 'askedToStop' | 'overMemory' | 'hung' | 'started' | 'suspectedJob'>,
): CrashFacts {
  const starts = readInFlightJournal(reportFolder)
  const seen = {
    ...end,
    askedToStop: hasStatusFile(reportFolder, 'asked'),
    overMemory: hasStatusFile(reportFolder, 'memory'),
    hung: hasStatusFile(reportFolder, 'hung'),
    suspectedJob: readSuspectedJob(reportFolder),
  }
  return {
    crashReport: makeCrashReport({ ...seen, started: [...starts.values()].flat() }),
    pendingReports: Array.from(starts, ([worker, started]) => ({
      worker,
      crashReport: makeCrashReport({ ...seen, started }),
    })),
  }
}
