/** The cells of a map of states: their counts, and their places on the page. */

export type CellState = 'waiting' | 'running' | 'stalled' | 'succeeded' | 'failed' | 'skipped' | 'cancelled' | 'erased'

/** The count of cells by state, for the words beside the map. */
export function countsOf(cells: readonly CellState[]): Map<CellState, number> {
  const counts = new Map<CellState, number>()
  for (const state of cells) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}

export interface Grid {
  columns: number
  rows: number
  /** Distance from a cell to the next, in CSS pixels. */
  step: number
}

const steps = [18, 16, 14, 12, 10, 9, 8, 7, 6]
const highest = 220

/** The largest cells with which the map is at most `highest` pixels high. */
export function gridOf(cells: number, width: number): Grid {
  // The width is not measured yet: no cell has a place.
  if (width <= 0) return { columns: 0, rows: 0, step: steps.at(-1)! }
  const at = (step: number): Grid => {
    const columns = Math.max(1, Math.floor(width / step))
    return { columns, rows: Math.ceil(cells / columns), step }
  }
  return at(steps.find(step => at(step).rows * step <= highest) ?? steps.at(-1)!)
}
