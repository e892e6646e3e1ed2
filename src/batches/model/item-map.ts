/** Defines the map of a batch: a letter for each item, or for a large batch samples of the items, spread evenly over the list. */
import type { JobState } from '../../jobs/model/state.ts'

export const stateLetters: Readonly<Record<JobState, string>> = {
  waiting: 'w',
  running: 'r',
  stalled: 't',
  succeeded: 's',
  failed: 'f',
  skipped: 'k',
  cancelled: 'c',
}

/** Items of a batch with a letter each; a larger batch is sampled. */
export const mostMapped = 5000
/** Cells of the map of a larger batch, and the items that are read for a cell. */
export const mapCells = 1000
export const samplesOfCell = 5

/** The states of the items of a batch, in the order of the list. */
export interface ItemMap {
  id: string
  total: number
  /** Items that a cell stands for; 1: a cell is an item. */
  itemsPerCell: number
  /**
   * The letters of the states: w waiting, r running, t stalled, s succeeded, f failed, k skipped, c cancelled. One letter for each cell, or
   * `samplesPerCell` letters for each cell of a large batch; `-`: the item is erased.
   */
  states: string
  /** Letters of a cell. 1: each item has its letter; otherwise the cell shows some of its items. */
  samplesPerCell: number
}

/** A range of ids with the items of a batch (retoma.batch_chunk). */
export interface ItemRange {
  firstId: number
  lastId: number
  items: number
}

/**
 * Ids at which to look for `count` samples, spread evenly over the list. Ids in a range are nearly without gaps, so the item at or after an
 * id is the item at about this place of the list.
 */
export function sampleIds(ranges: readonly ItemRange[], count: number): { id: number; last: number }[] {
  const total = ranges.reduce((sum, range) => sum + range.items, 0)
  const samples: { id: number; last: number }[] = []
  let range = 0
  let before = 0
  for (let k = 0; k < count; k++) {
    const place = Math.floor(((k + 0.5) * total) / count)
    while (range < ranges.length - 1 && place >= before + ranges[range]!.items) before += ranges[range++]!.items
    const { firstId, lastId, items } = ranges[range]!
    const share = items <= 1 ? 0 : (place - before) / (items - 1)
    samples.push({ id: firstId + Math.floor((lastId - firstId) * Math.min(share, 1)), last: lastId })
  }
  return samples
}
