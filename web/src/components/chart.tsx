/** A time chart. The library is loaded when the first chart is shown. */
import { lazy, Suspense } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { componentMessages } from './messages.ts'
import { Skeleton } from './states.tsx'
import type { TimeChartProps } from './time-chart.tsx'

const TimeChart = lazy(() => import('./time-chart.tsx'))

/** A chart without any value says so instead of drawing an empty grid. */
export function Chart(props: TimeChartProps) {
  const words = useMessages(componentMessages)
  const hasValue = props.series.some(({ values }) => values.some(value => value !== null))
  if (!hasValue) return <p class="flex h-40 items-center justify-center text-sm text-faint">{words.noData}</p>
  return (
    <Suspense fallback={<Skeleton lines={4} label={props.label} />}>
      <TimeChart {...props} />
    </Suspense>
  )
}
