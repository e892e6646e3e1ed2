/** The list of batches, the newest first, with progress bars that move. */
import { Layers, X } from 'lucide-react'
import { useMemo } from 'react'
import { Link, useLocation } from 'wouter'
import { mostLivePages } from '../../api/list-pace.ts'
import { useLongList } from '../../api/long-list.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Select } from '../../components/field.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type Format, useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { SampleLink } from '../../layout/sample-link.tsx'
import { withBase } from '../../lib/base-path.ts'
import { useFilters } from '../../lib/filters.ts'
import { type BatchView, batchStates, endedOf, isBatchState, isOpen, progressParts } from './batch-model.ts'
import { type BatchWords, batchMessages } from './messages.ts'

const filterNames = ['state', 'name'] as const
const readEveryMs = 2000
const pageSize = 50

export default function BatchesPage() {
  const words = useMessages(batchMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const [{ state, name }, change] = useFilters(filterNames)
  const query = {
    limit: pageSize,
    ...(isBatchState(state) ? { state } : {}),
    ...(name === undefined ? {} : { name }),
  }
  const list = useLongList('GET /api/v1/batches', { query }, { every: readEveryMs, livePages: mostLivePages })
  const columns = useMemo(() => columnsOf(words, states, format), [words, states, format])
  const isFiltered = state !== undefined || name !== undefined
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <div class="mb-3 flex flex-wrap items-end gap-2">
        <div class="w-52 max-sm:flex-1">
          <Select
            label={words.state}
            hideLabel
            value={state ?? ''}
            onSelect={value => change({ state: value })}
            options={[
              { value: '', label: words.anyState },
              ...batchStates.map(each => ({ value: each, label: states[each] })),
            ]}
          />
        </div>
        <div class="w-52 max-sm:flex-1">
          <SearchInput label={words.nameFilter} value={name ?? ''} onSearch={text => change({ name: text })} />
        </div>
        {isFiltered && (
          <Button look="quiet" icon={X} onClick={() => change({ state: undefined, name: undefined })}>
            {words.clear}
          </Button>
        )}
      </div>
      <Card flush>
        <StillMark since={list.stillSince} isReading={list.isReading} onRefresh={list.refetch} />
        {list.items === undefined ? (
          list.error === null ? (
            <Skeleton lines={8} />
          ) : (
            <ErrorState error={list.error} onRetry={list.refetch} />
          )
        ) : (
          <Table
            label={words.title}
            columns={columns}
            rows={list.items}
            keyOf={batch => batch.id}
            onRow={batch => navigate(`/batches/${batch.id}`)}
            empty={isFiltered ? <EmptyState icon={Layers} title={words.noneFound} /> : <NoBatches />}
          />
        )}
      </Card>
      {list.hasMore && (
        <div class="mt-3 flex justify-center">
          <Button onClick={list.more} busy={list.isReading}>
            {words.more}
          </Button>
        </div>
      )}
    </>
  )
}

function NoBatches() {
  const words = useMessages(batchMessages)
  const command = [
    `curl -H 'content-type: application/json' \\`,
    `  -d '{"name":"classification","items":[{"code":"A-17"}]}' \\`,
    `  ${location.origin}${withBase('/api/v1/batches')}`,
  ].join('\n')
  return (
    <EmptyState
      icon={Layers}
      title={words.none}
      action={
        <div class="flex flex-col items-center gap-3">
          <div class="w-[min(34rem,80vw)] text-left">
            <CodeBlock text={command} label={words.none} />
          </div>
          <SampleLink />
        </div>
      }
    >
      {words.noneHint}
    </EmptyState>
  )
}

function columnsOf(
  words: BatchWords,
  states: (typeof stateMessages)['en'],
  format: Format,
): readonly Column<BatchView>[] {
  return [
    {
      id: 'batch',
      header: words.batch,
      cell: batch => (
        <div class="min-w-0">
          <Link href={`/batches/${batch.id}`} class="block truncate font-medium hover:underline">
            {batch.name}
          </Link>
          <div class="flex items-center gap-1.5 truncate text-sm text-faint">
            <span class="sm:hidden">
              <StateBadge state={batch.state} />
            </span>
            <span>#{batch.id}</span>
            {batch.key !== null && <span class="truncate">{batch.key}</span>}
          </div>
        </div>
      ),
    },
    {
      id: 'state',
      header: words.state,
      width: '10.5rem',
      hide: 'sm',
      cell: batch => <StateBadge state={batch.state} />,
    },
    {
      id: 'progress',
      header: words.progress,
      width: 'clamp(9.25rem, 17vw, 24rem)',
      cell: batch => (
        <div class="flex flex-col gap-1">
          <div class="flex justify-between gap-2 text-sm">
            <span class="truncate text-muted">
              {words.of(format.number(endedOf(batch)), format.number(batch.total))}
            </span>
            <span class="font-medium whitespace-nowrap">
              {batch.percent === null ? '–' : format.percent(Math.floor(batch.percent))}
            </span>
          </div>
          <Progress
            label={words.progressOf(batch.name, batch.id)}
            parts={progressParts(batch, states)}
            total={batch.total}
            done={endedOf(batch)}
          />
        </div>
      ),
    },
    {
      id: 'failed',
      header: words.failures,
      align: 'right',
      width: '5rem',
      hide: 'nav',
      cell: ({ failed }) =>
        failed === 0 ? (
          <span class="text-faint">0</span>
        ) : (
          <span class="font-medium text-bad">{format.number(failed)}</span>
        ),
    },
    {
      id: 'rate',
      header: words.rate,
      align: 'right',
      width: '6rem',
      hide: 'lg',
      cell: ({ rate }) =>
        rate === null ? (
          <span class="text-faint">–</span>
        ) : (
          words.perSecond(format.number(rate, { maximumFractionDigits: 1 }))
        ),
    },
    {
      id: 'left',
      header: words.left,
      align: 'right',
      width: '6rem',
      hide: 'lg',
      cell: batch =>
        batch.eta_seconds === null || !isOpen(batch) ? (
          <span class="text-faint">–</span>
        ) : (
          format.duration(batch.eta_seconds * 1000)
        ),
    },
    {
      id: 'created',
      header: words.created,
      align: 'right',
      width: '7rem',
      hide: 'nav',
      cell: ({ created_at }) => (
        <span class="text-muted">
          <RelativeTime at={created_at} />
        </span>
      ),
    },
  ]
}
