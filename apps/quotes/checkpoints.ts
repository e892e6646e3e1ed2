/** The checkpoints of a quote in their order, with the seed's names and the percentage of each. */

export const checkpoints = {
  INIT: 0,
  AI_ANALYSIS_START: 10,
  AI_ANALYSIS_DONE: 30,
  FIPE_SEARCH: 50,
  SHOPPING_SEARCH_START: 35,
  SHOPPING_SEARCH_DONE: 50,
  PRICE_EXTRACTION_START: 50,
  /** From 50 to 90, by the number of tested products. */
  PRICE_EXTRACTION_PROGRESS: 50,
  PRICE_EXTRACTION_DONE: 90,
  FINALIZATION: 95,
  COMPLETED: 100,
} as const

export type Checkpoint = keyof typeof checkpoints

export const checkpointNames = Object.keys(checkpoints) as Checkpoint[]

/** Of a quote that has tested `tested` of `all` products. */
export const extractionProgress = (tested: number, all: number): number =>
  all === 0 ? 90 : 50 + Math.floor((40 * tested) / all)
