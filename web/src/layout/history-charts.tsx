/** Throughput, duration, waiting time and failures of one queue or of all queues over an hour, a day or a week. */
import { ChartLine } from 'lucide-react'
import { useMemo } from 'react'
import { type History, type HistoryPoint, type Range, ranges, useHistory } from '../api/history.ts'
import { Card } from '../components/card.tsx'
import { Chart } from '../components/chart.tsx'
import { EmptyState, Loading } from '../components/states.tsx'
import type { Series } from '../components/time-chart.tsx'
import { useFormat } from '../i18n/format.ts'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { useFilters } from '../lib/filters.ts'
import { type HistoryWords, historyMessages } from './history-messages.ts'
import { SampleLink } from './sample-link.tsx'

type Value = (point: HistoryPoint | undefined) => number | null

type Points = History['total']

const series = (
  points: Points,
  label: string,
  tone: Series['tone'],
  value: Value,
  more: Partial<Series> = {},
): Series => ({
  label,
  tone,
  values: points.map(value),
  ...more,
})

function chartsOf(points: Points, stepSeconds: number, words: HistoryWords) {
  const perMinute = 60 / stepSeconds
  const distribution = (of: 'duration' | 'waiting') => [
    series(points, words.p50, 'accent', point => point?.[of].p50_seconds ?? null),
    series(points, words.p95, 'idle', point => point?.[of].p95_seconds ?? null, { dashed: true }),
  ]
  return {
    throughput: [
      series(points, words.succeeded, 'good', point => (point?.succeeded ?? 0) * perMinute),
      series(points, words.failed, 'bad', point => (point?.failed ?? 0) * perMinute, { dashed: true }),
    ],
    duration: distribution('duration'),
    waiting: distribution('waiting'),
    failures: [
      series(points, words.failed, 'bad', point => point?.failed ?? 0, { bars: true }),
      series(points, words.retried, 'warn', point => point?.retried ?? 0, { dashed: true }),
    ],
  }
}

const noPoints: Points = []
const rangeFilter = ['range'] as const

/** `queue`: the charts of this queue alone. */
export function HistoryCharts({ queue }: { queue?: string }) {
  const words = useMessages(historyMessages)
  const format = useFormat()
  const [{ range: asked }, change] = useFilters(rangeFilter)
  const range = ranges.find(each => each === asked) ?? 'hour'
  const { history, error, refetch } = useHistory(range)
  const points = (queue === undefined ? history?.total : history?.queues.get(queue)) ?? noPoints
  const charts = useMemo(
    () => (history === undefined ? undefined : chartsOf(points, history.stepSeconds, words)),
    [points, history, words],
  )
  if (history === undefined || charts === undefined)
    return (
      <Card title={words.history}>
        <Loading of={{ data: undefined, error, refetch }} lines={5}>
          {() => null}
        </Loading>
      </Card>
    )
  const seconds = (value: number) => format.duration(value * 1000)
  const shown = [
    { title: words.throughput, series: charts.throughput },
    { title: words.duration, series: charts.duration, show: seconds },
    { title: words.waiting, series: charts.waiting, show: seconds },
    { title: words.failures[range], series: charts.failures, counts: true },
  ]
  return (
    <section aria-labelledby="history" class="flex flex-col gap-3">
      <div class="flex items-center justify-between">
        <h2 id="history" class="text-base font-semibold">
          {words.history}
        </h2>
        <RangeSwitch range={range} onRange={next => change({ range: next === 'hour' ? undefined : next })} />
      </div>
      {points.every(point => point === undefined) ? (
        <Card>
          <EmptyState
            icon={ChartLine}
            title={words.none}
            small
            {...(queue === undefined && { action: <SampleLink /> })}
          >
            {words.noneHint}
          </EmptyState>
        </Card>
      ) : (
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
      )}
    </section>
  )
}

function RangeSwitch({ range, onRange }: { range: Range; onRange(range: Range): void }) {
  const words = useMessages(historyMessages)
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
