/** Builds crash reports from the files of an ended process: a report per worker, each with the attempts of this worker. */

import type { PendingCrashReport } from './crash-report-file.ts'
import { readInFlightJournal } from './in-flight-journal.ts'
import { type CrashObservation, type CrashReport, makeCrashReport } from './model/crash-report.ts'
import { hasStatusFile } from './status-files.ts'
import { readSuspectedJob } from './suspected-job-file.ts'

export interface CrashFacts {
  /** The report of the whole process, with all attempts in flight. */
  death: CrashReport
  certificates: PendingCrashReport[]
}

export function buildCrashReports(
  papers: string,
  end: Omit<CrashObservation, 'askedToStop' | 'overMemory' | 'hung' | 'started' | 'culprit'>,
): CrashFacts {
  const starts = readInFlightJournal(papers)
  const seen = {
    ...end,
    askedToStop: hasStatusFile(papers, 'asked'),
    overMemory: hasStatusFile(papers, 'memory'),
    hung: hasStatusFile(papers, 'hung'),
    culprit: readSuspectedJob(papers),
  }
  return {
    death: makeCrashReport({ ...seen, started: [...starts.values()].flat() }),
    certificates: Array.from(starts, ([worker, started]) => ({ worker, death: makeCrashReport({ ...seen, started }) })),
  }
}
