/** Draws series over time with uPlot, in the colours of the theme. `label` and the table for screen readers say the same in words. */
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useFormat } from '../i18n/format.ts'
import { useTheme } from '../lib/theme.ts'
import type { Tone } from './badge.tsx'

export interface Series {
  label: string
  tone: Tone
  values: readonly (number | null)[]
  /** Drawn as bars instead of a line. */
  bars?: boolean
  /** A dashed line, so that two series differ without colour. */
  dashed?: boolean
}

export interface TimeChartProps {
  label: string
  /** Seconds since 1970. */
  times: readonly number[]
  series: readonly Series[]
  height?: number
  /** The text of a value on the axis and under the pointer. */
  show?: (value: number) => string
}

const colourOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
const font = '11px system-ui, sans-serif'

export default function TimeChart({ label, times, series, height = 160, show }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const format = useFormat()
  const theme = useTheme()
  const text = show ?? ((value: number) => format.compact(value))
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const grid = { stroke: colourOf('line'), width: 1 }
    const axis = { stroke: colourOf('faint'), grid, ticks: { show: false }, font }
    const hour = new Intl.DateTimeFormat(format.language, { hour: '2-digit', minute: '2-digit' })
    const day = new Intl.DateTimeFormat(format.language, { day: '2-digit', month: '2-digit' })
    const long = (times.at(-1) ?? 0) - (times[0] ?? 0) > 2 * 86_400
    const plot = new UPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: true, live: true },
        cursor: { points: { size: 6 }, drag: { x: false, y: false } },
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [
          { ...axis, values: (_, ticks) => ticks.map(tick => (long ? day : hour).format(tick * 1000)) },
          { ...axis, size: 52, values: (_, ticks) => ticks.map(text) },
        ],
        series: [
          { label: '', value: (_, at) => (at === null ? '' : format.dateTime(at * 1000)) },
          ...series.map(({ label, tone, bars, dashed }) => ({
            label,
            stroke: colourOf(`${tone}-fill`),
            width: 1.5,
            points: { show: false },
            value: (_: unknown, value: number | null) => (value === null ? '–' : text(value)),
            ...(dashed ? { dash: [4, 3] } : {}),
            ...(bars
              ? { fill: colourOf(`${tone}-fill`), width: 0, paths: UPlot.paths.bars!({ size: [0.7, 12] }) }
              : {}),
          })),
        ],
      },
      [times, ...series.map(each => each.values)] as unknown as UPlot.AlignedData,
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, height, format, theme, text])
  return <div ref={place} role="img" aria-label={label} class="chart w-full min-w-0 overflow-hidden" />
}
