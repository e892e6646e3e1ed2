/** The map of the items of a batch: cells in the order of the list, each with the state that most needs attention. */
import type { ItemState } from './batch-model.ts'

export type CellState = ItemState | 'erased'

const letters: Readonly<Record<string, CellState>> = {
  w: 'waiting',
  r: 'running',
  t: 'stalled',
  s: 'succeeded',
  f: 'failed',
  k: 'skipped',
  c: 'cancelled',
  '-': 'erased',
}

/** What needs attention first; a cell of many items has the first of these that one of its items has. */
const attention: readonly CellState[] = [
  'stalled',
  'failed',
  'running',
  'waiting',
  'cancelled',
  'skipped',
  'succeeded',
  'erased',
]

export interface ItemMapData {
  total: number
  items_per_cell: number
  samples_per_cell: number
  states: string
}

export function cellsOf({ states, samples_per_cell: samples }: ItemMapData): CellState[] {
  const width = Math.max(1, samples)
  return Array.from({ length: Math.ceil(states.length / width) }, (_, cell) => {
    const found = new Set([...states.slice(cell * width, (cell + 1) * width)].map(letter => letters[letter]))
    return attention.find(state => found.has(state)) ?? 'erased'
  })
}

/** The positions of the first and the last item of a cell, from 0. */
export function itemsOf(cell: number, { total, items_per_cell: size }: ItemMapData): [number, number] {
  const first = Math.floor(cell * size)
  return [first, Math.max(first, Math.min(total, Math.floor((cell + 1) * size)) - 1)]
}

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
  const at = (step: number): Grid => {
    const columns = Math.max(1, Math.floor(width / step))
    return { columns, rows: Math.ceil(cells / columns), step }
  }
  return at(steps.find(step => at(step).rows * step <= highest) ?? steps.at(-1)!)
}
