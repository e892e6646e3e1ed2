/** From the papers of a dead process to its death certificates: one for each worker it had, which differ in what had started. */
import { type Death, makeDeath, type Seen } from '../core/death.ts'
import type { Certificate } from './certificates.ts'
import { isMarked } from './marks.ts'
import { readCulprit } from './papers.ts'
import { readStarts } from './starts.ts'

export interface Inquest {
  /** Of the process: with all that had started in it. */
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
