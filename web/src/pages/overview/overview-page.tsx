/** The overview: one sentence of health with the button that helps, the queues, the history, what failed last. */
import { useState } from 'react'
import { Card } from '../../components/card.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { Stat } from '../../components/stat.tsx'
import { Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { HistoryCharts } from '../../layout/history-charts.tsx'
import { PageHeader } from '../../layout/page-header.tsx'
import { keyOfProblem, ProblemRow, ProblemSentence } from '../../layout/problem-sentence.tsx'
import { BatchesCard } from './batches-card.tsx'
import { FailuresCard } from './failures-card.tsx'
import { overviewMessages } from './messages.ts'
import { QueueTable } from './queue-table.tsx'
import { type Overview, useOverview } from './use-overview.ts'

/** Beside the worst problem, which has a sentence of its own. */
const shownProblems = 4

/** Stalled and paused batches first. */
const mostBatches = 6

export default function OverviewPage() {
  const words = useMessages(overviewMessages)
  const overview = useOverview()
  return (
    <>
      <PageHeader title={words.title} />
      <Loading of={overview} lines={8}>
        {data => (
          <div class="flex flex-col gap-4">
            <Health overview={data} />
            <Numbers overview={data} />
            <HistoryCharts />
            <div class="grid gap-4 wide:grid-cols-[minmax(0,2fr)_minmax(0,1fr)]">
              <QueueTable overview={data} />
              <div class="grid content-start gap-4 lg:grid-cols-2 wide:grid-cols-1">
                <BatchesCard batches={[...data.batches, ...data.running].slice(0, mostBatches)} />
                <FailuresCard />
              </div>
            </div>
          </div>
        )}
      </Loading>
    </>
  )
}

function Health({ overview: { health, stats, queues } }: { overview: Overview }) {
  const words = useMessages(overviewMessages)
  const [showsAll, setShowsAll] = useState(false)
  const [worst, ...others] = health.problems
  const running = queues.reduce((sum, each) => sum + (each.running ?? 0), 0)
  const isIdle = queues.every(each => each.running === 0 && each.ready === 0)
  if (worst === undefined)
    return (
      <Sentence kind="good" hint={words.allWellHint(running, stats.workers)}>
        {isIdle ? words.idle : words.allWell}
      </Sentence>
    )
  return (
    <div class="flex flex-col gap-2" aria-live="polite">
      <ProblemSentence problem={worst} />
      {others.length > 0 && (
        <ul class="divide-y rounded-lg border bg-surface">
          {others.slice(0, showsAll ? undefined : shownProblems).map(each => (
            <ProblemRow key={keyOfProblem(each)} problem={each} />
          ))}
        </ul>
      )}
      {others.length > shownProblems && (
        <button
          type="button"
          aria-expanded={showsAll}
          class="self-start text-sm font-medium text-accent hover:underline"
          onClick={() => setShowsAll(!showsAll)}
        >
          {showsAll ? words.fewerProblems : words.moreProblems(others.length - shownProblems)}
        </button>
      )}
    </div>
  )
}

function Numbers({ overview: { stats, queues } }: { overview: Overview }) {
  const words = useMessages(overviewMessages)
  const format = useFormat()
  const sum = (value: (queue: Overview['queues'][number]) => number | null) =>
    queues.reduce((total, each) => total + (value(each) ?? 0), 0)
  const stalled = sum(each => each.stalled)
  const oldest = stats.oldest_ready_seconds
  return (
    <Card>
      <div class="grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3 lg:grid-cols-6">
        <Stat label={words.ready} value={format.number(sum(each => each.ready))} />
        <Stat label={words.running} value={format.number(sum(each => each.running))} />
        <Stat label={words.scheduled} value={format.number(sum(each => each.scheduled))} />
        <Stat label={words.stalled} value={format.number(stalled)} tone={stalled > 0 ? 'warn' : 'idle'} />
        <Stat label={words.oldest} value={oldest === null ? '–' : format.duration(oldest * 1000)} />
        <Stat label={words.workers} value={format.number(stats.workers)} />
      </div>
    </Card>
  )
}
