/** Builds crash reports from the files of an ended process: a report per worker, each with the attempts of this worker. */
import { type Death, makeDeath, type Seen } from '../core/death.ts'
import type { Certificate } from './certificates.ts'
import { isMarked } from './marks.ts'
import { readCulprit } from './papers.ts'
import { readStarts } from './starts.ts'

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
