/** Throughput, duration, waiting time and failures of all queues over an hour, a day or a week. */
import { useMemo } from 'react'
import { type History, type HistoryPoint, type Range, ranges, useHistory } from '../../api/history.ts'
import { Card } from '../../components/card.tsx'
import { Chart } from '../../components/chart.tsx'
import type { Series } from '../../components/time-chart.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { type OverviewWords, overviewMessages } from './messages.ts'

type Value = (point: HistoryPoint | undefined) => number | null

const series = (
  { total }: History,
  label: string,
  tone: Series['tone'],
  value: Value,
  more: Partial<Series> = {},
): Series => ({
  label,
  tone,
  values: total.map(value),
  ...more,
})

function chartsOf(history: History, words: OverviewWords) {
  const perMinute = 60 / history.stepSeconds
  const distribution = (of: 'duration' | 'waiting') => [
    series(history, words.p50, 'accent', point => point?.[of].p50_seconds ?? null),
    series(history, words.p95, 'idle', point => point?.[of].p95_seconds ?? null, { dashed: true }),
  ]
  return {
    throughput: [
      series(history, words.succeeded, 'good', point => (point?.succeeded ?? 0) * perMinute),
      series(history, words.failedJobs, 'bad', point => (point?.failed ?? 0) * perMinute, { dashed: true }),
    ],
    duration: distribution('duration'),
    waiting: distribution('waiting'),
    failures: [
      series(history, words.failedJobs, 'bad', point => point?.failed ?? 0, { bars: true }),
      series(history, words.retried, 'warn', point => point?.retried ?? 0, { dashed: true }),
    ],
  }
}

interface HistoryChartsProps {
  range: Range
  onRange(range: Range): void
}

export function HistoryCharts({ range, onRange }: HistoryChartsProps) {
  const words = useMessages(overviewMessages)
  const format = useFormat()
  const history = useHistory(range)
  const charts = useMemo(() => (history === undefined ? undefined : chartsOf(history, words)), [history, words])
  if (history === undefined || charts === undefined) return null
  const seconds = (value: number) => format.duration(value * 1000)
  const shown = [
    { title: words.chartThroughput, series: charts.throughput },
    { title: words.chartDuration, series: charts.duration, show: seconds },
    { title: words.chartWaiting, series: charts.waiting, show: seconds },
    { title: words.chartFailures, series: charts.failures, counts: true },
  ]
  return (
    <section aria-labelledby="history" class="flex flex-col gap-3">
      <div class="flex items-center justify-between">
        <h2 id="history" class="text-base font-semibold">
          {words.history}
        </h2>
        <RangeSwitch range={range} onRange={onRange} />
      </div>
      <div class="grid gap-4 lg:grid-cols-2 wide:grid-cols-4">
        {shown.map(({ title, series, show, counts = false }) => (
          <Card key={title} title={title} heading="h3">
            <Chart
              label={title}
              times={history.times}
              series={series}
              counts={counts}
              {...(show === undefined ? {} : { show })}
            />
          </Card>
        ))}
      </div>
    </section>
  )
}

function RangeSwitch({ range, onRange }: HistoryChartsProps) {
  const words = useMessages(overviewMessages)
  return (
    <div role="group" aria-label={words.range} class="flex rounded-md border bg-surface p-0.5">
      {ranges.map(each => (
        <button
          key={each}
          type="button"
          aria-pressed={each === range}
          class={classes(
            'h-6 rounded-sm px-2.5 text-sm font-medium',
            each === range ? 'bg-hover text-ink' : 'text-muted hover:text-ink',
          )}
          onClick={() => onRange(each)}
        >
          {words[each]}
        </button>
      ))}
    </div>
  )
}
