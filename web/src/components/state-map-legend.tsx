/** The legend of the map: the mark of each state that occurs. */
import { useEffect, useRef } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { stateMessages } from '../i18n/states.ts'
import { draw } from './state-map-draw.ts'
import type { CellState } from './state-map-model.ts'

export function MapLegend({ counts }: { counts: ReadonlyMap<CellState, number> }) {
  const states = useMessages(stateMessages)
  return (
    <ul class="flex flex-wrap gap-x-3 gap-y-1 text-sm text-muted">
      {[...counts.keys()].map(state => (
        <li key={state} class="flex items-center gap-1.5">
          <Mark state={state} />
          {state === 'erased' ? '–' : states[state]}
        </li>
      ))}
    </ul>
  )
}

function Mark({ state }: { state: CellState }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current === null) return
    draw(canvas.current, {
      grid: { columns: 1, rows: 1, step: 12 },
      cells: [state],
      at: undefined,
      selected: undefined,
    })
  })
  return <canvas ref={canvas} class="block" style={{ width: '12px', height: '12px' }} />
}
