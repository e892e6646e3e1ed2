/** The map of the items of a batch: cells in the order of the list, each with the state that most needs attention. */
import type { CellState } from '../../components/state-map-model.ts'

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
