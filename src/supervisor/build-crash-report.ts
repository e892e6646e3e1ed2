/** Builds crash reports from the files of an ended process: a report per worker, each with the attempts of this worker. */

import { readCulprit } from './crash-report-files.ts'
import { readStarts } from './in-flight-journal.ts'
import { type Death, makeDeath, type Seen } from './model/crash-report.ts'
import type { Certificate } from './pending-crash-reports.ts'
import { isMarked } from './status-files.ts'

export interface Inquest {
  /** The report of the whole process, with all attempts in flight. */
  death: Death
  certificates: Certificate[]
}

export function holdInquest(
  papers: string,
  end: Omit<Seen, 'askedToStop' | 'overMemory' | 'hung' | 'started' | 'culprit'>,
): Inquest {
  const starts = readStarts(papers)
  const seen = {
    ...end,
    askedToStop: isMarked(papers, 'asked'),
    overMemory: isMarked(papers, 'memory'),
    hung: isMarked(papers, 'hung'),
    culprit: readCulprit(papers),
  }
  return {
    death: makeDeath({ ...seen, started: [...starts.values()].flat() }),
    certificates: Array.from(starts, ([worker, started]) => ({ worker, death: makeDeath({ ...seen, started }) })),
  }
}
