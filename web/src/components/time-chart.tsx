/** Draws series over time with uPlot, in the colours of the theme. New data move the lines without a new drawing. */
import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { type Format, useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { useShownTheme } from '../lib/theme.ts'
import type { Tone } from './badge.tsx'
import { tickTexts, topOf } from './chart-axis.ts'
import { componentMessages } from './messages.ts'

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
  /** Read aloud, followed by the last and the largest value of each series. */
  label: string
  /** Seconds since 1970. */
  times: readonly number[]
  series: readonly Series[]
  height?: number
  /** The values are counts: no fractions on the axis. */
  counts?: boolean
  /** The text of a value on the axis and under the pointer. */
  show?: (value: number) => string
}

const colourOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
const font = '11px system-ui, sans-serif'
const wholeSteps = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map(step => step * 10 ** power)).flat()
const twoDays = 2 * 86_400

const dataOf = ({ times, series }: TimeChartProps) =>
  [times, ...series.map(each => each.values)] as unknown as UPlot.AlignedData

function optionsOf(
  { series, height = 160, counts = false, show }: TimeChartProps,
  format: Format,
): Omit<UPlot.Options, 'width'> {
  const text = show ?? ((value: number) => format.compact(value))
  const grid = { stroke: colourOf('line'), width: 1 }
  const axis = { stroke: colourOf('faint'), grid, ticks: { show: false }, font }
  const hour = new Intl.DateTimeFormat(format.language, { hour: '2-digit', minute: '2-digit' })
  const day = new Intl.DateTimeFormat(format.language, { day: '2-digit', month: '2-digit' })
  return {
    height,
    padding: [8, 20, 0, 0],
    legend: { show: true, live: true },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_, __, largest) => [0, topOf(largest, show !== undefined)] } },
    axes: [
      {
        ...axis,
        space: 64,
        size: 28,
        // By the data on the screen: other data come into the same drawing.
        values: ({ data: [times] }, ticks) => {
          const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > twoDays
          return ticks.map(tick => (isLong ? day : hour).format(tick * 1000))
        },
      },
      {
        ...axis,
        size: 56,
        space: 32,
        values: (_, ticks) => tickTexts(ticks, text),
        ...(counts ? { incrs: wholeSteps } : {}),
      },
    ],
    series: [
      { label: '', value: (_, at) => (at === null ? '' : format.dateTime(at * 1000)) },
      ...series.map(({ label, tone, bars, dashed }) => ({
        label,
        stroke: colourOf(`${tone}-fill`),
        width: 1.5,
        points: { show: false },
        value: (_: unknown, value: number | null) => (value === null || value === undefined ? '' : text(value)),
        ...(dashed ? { dash: [4, 3] } : {}),
        ...(bars ? { fill: colourOf(`${tone}-fill`), width: 0, paths: UPlot.paths.bars!({ size: [0.7, 12] }) } : {}),
      })),
    ],
  }
}

/** Reads the last and the largest value of each series. */
function summaryOf(
  { series, show }: TimeChartProps,
  format: Format,
  text: (name: string, last: string, largest: string) => string,
): string {
  const shown = show ?? ((value: number) => format.number(value, { maximumFractionDigits: 1 }))
  return series
    .flatMap(({ label, values }) => {
      const known = values.filter(value => value !== null)
      const last = known.at(-1)
      const largest = known.reduce((most, value) => Math.max(most, value), 0)
      return last === undefined ? [] : [text(label, shown(last), shown(largest))]
    })
    .join('; ')
}

export default function TimeChart(props: TimeChartProps) {
  const { label, series, times, height = 160 } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  const latest = useRef(props)
  latest.current = props
  const format = useFormat()
  const theme = useShownTheme()
  // A new drawing only for another look, not for other values.
  const look = `${theme} ${format.language} ${height} ${series.map(each => `${each.label}${each.tone}${each.bars}`).join()}`
  useEffect(() => {
    const element = place.current
    if (element === null) return undefined
    const made = new UPlot(
      { ...optionsOf(latest.current, format), width: element.clientWidth },
      dataOf(latest.current),
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [look])
  const words = useMessages(componentMessages)
  useEffect(() => plot.current?.setData(dataOf(latest.current)), [times, series])
  return (
    <div
      ref={place}
      role="img"
      aria-label={`${label}. ${summaryOf(props, format, words.chartSeries)}`}
      class="chart w-full min-w-0 overflow-hidden"
    />
  )
}
