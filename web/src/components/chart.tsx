/** A time chart. The library is loaded when the first chart is shown. */
import { lazy, Suspense } from 'react'
import { Skeleton } from './states.tsx'
import type { TimeChartProps } from './time-chart.tsx'

const TimeChart = lazy(() => import('./time-chart.tsx'))

export function Chart(props: TimeChartProps) {
  return (
    <Suspense fallback={<Skeleton lines={4} label={props.label} />}>
      <TimeChart {...props} />
    </Suspense>
  )
}
