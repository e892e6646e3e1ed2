/**
 * What is kept of a job that may have killed its process, or whose process keeps dying: it is run with care. The statements
 * that change it are store/orphan.ts and store/death.ts; worker/quarantine.ts runs such a job as it says.
 */
export interface Care {
  /** 0: as any other; 1: apart from the other suspects of that death; 2: alone. */
  level: 0 | 1 | 2
  /** The worker whose death it is suspected of. */
  death: string | null
  /** Unexplained deaths it was there for, in a row, that it has not paid for. */
  deaths: number
  /** Restarts in a row without a step of progress. */
  fruitless: number
}

const noCare: Care = { level: 0, death: null, deaths: 0, fruitless: 0 }

/** Since PostgreSQL gives jsonb as it is: null for nearly every job. */
export const careOf = (kept: Partial<Care> | null): Care => (kept === null ? noCare : { ...noCare, ...kept })

/** So many restarts in a row without a step of progress make a job run alone, and so many stall it. */
export const aloneAfter = 3
export const stalledAfter = 10
