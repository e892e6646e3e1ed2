/** Draws a map of states on a canvas. Each state has a colour and a mark of its own, so that states differ without colour. */
import type { CellState, Grid } from './state-map-model.ts'

const fills: Readonly<Record<CellState, string>> = {
  succeeded: '--good-fill',
  failed: '--bad-fill',
  running: '--busy-fill',
  stalled: '--warn-fill',
  skipped: '--idle-fill',
  cancelled: '--idle-fill',
  waiting: '--line-strong',
  erased: '--line',
}

/** The colours of the theme, read once for a drawing. */
function readColours(): (name: string) => string {
  const style = getComputedStyle(document.documentElement)
  const known = new Map<string, string>()
  return name => {
    const found = known.get(name) ?? style.getPropertyValue(name).trim()
    known.set(name, found)
    return found
  }
}

interface Drawing {
  grid: Grid
  cells: readonly CellState[]
  /** The cell under the pointer or the keyboard. */
  at: number | undefined
  /** The first and the last selected cell. */
  selected: readonly [number, number] | undefined
}

export function draw(canvas: HTMLCanvasElement, { grid, cells, at, selected }: Drawing): void {
  const context = canvas.getContext('2d')
  if (context === null) return
  const scale = devicePixelRatio
  const width = grid.columns * grid.step
  const height = grid.rows * grid.step
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale)
  if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale)
  const colour = readColours()
  context.setTransform(scale, 0, 0, scale, 0, 0)
  context.clearRect(0, 0, width, height)
  const size = grid.step - (grid.step > 8 ? 2 : 1)
  for (let cell = 0; cell < cells.length; cell++) {
    const x = (cell % grid.columns) * grid.step
    const y = Math.floor(cell / grid.columns) * grid.step
    drawCell(context, cells[cell]!, x, y, size, colour)
    if (selected !== undefined && cell >= selected[0] && cell <= selected[1]) {
      context.strokeStyle = colour('--accent')
      context.lineWidth = 1
      context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1)
    }
  }
  if (at === undefined || at >= cells.length) return
  context.strokeStyle = colour('--ink')
  context.lineWidth = 2
  context.strokeRect((at % grid.columns) * grid.step, Math.floor(at / grid.columns) * grid.step, size, size)
}

type Context = CanvasRenderingContext2D

function drawCell(
  context: Context,
  state: CellState,
  x: number,
  y: number,
  size: number,
  colour: (name: string) => string,
): void {
  context.fillStyle = colour(fills[state])
  context.strokeStyle = colour(fills[state])
  context.lineWidth = 1
  if (state === 'waiting' || state === 'erased') {
    context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1)
    if (state === 'erased') line(context, x, y + size, x + size, y)
    return
  }
  context.fillRect(x, y, size, size)
  const mark = size > 5 ? 1.5 : 1
  context.strokeStyle = colour('--surface')
  context.fillStyle = colour('--surface')
  context.lineWidth = mark
  const near = size * 0.25
  switch (state) {
    case 'failed': // A cross.
      line(context, x + near, y + near, x + size - near, y + size - near)
      line(context, x + size - near, y + near, x + near, y + size - near)
      return
    case 'running': // A hole.
      context.fillRect(x + size / 2 - mark, y + size / 2 - mark, mark * 2, mark * 2)
      return
    case 'stalled': // A bar.
      context.fillRect(x + size / 2 - mark / 2, y + near, mark, size - near * 2)
      return
    case 'skipped': // A slash.
      line(context, x + near, y + size - near, x + size - near, y + near)
      return
    case 'cancelled': // A dash.
      context.fillRect(x + near, y + size / 2 - mark / 2, size - near * 2, mark)
      return
    default:
      return
  }
}

function line(context: Context, fromX: number, fromY: number, toX: number, toY: number): void {
  context.beginPath()
  context.moveTo(fromX, fromY)
  context.lineTo(toX, toY)
  context.stroke()
}
