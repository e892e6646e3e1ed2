/** The quotes, the newest first, with where each stands; and the form of a new one. */
import { FlaskConical, Plus, Tags } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { type ItemOf, useApiList } from '../../api/query.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Select } from '../../components/field.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useAct } from '../../layout/use-act.ts'
import { useFilters } from '../../lib/filters.ts'
import { sharedMessages, statusMessages } from '../shared/messages.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { quotesMessages } from './messages.ts'
import { NewQuote } from './new-quote.tsx'

type Quote = ItemOf<'GET /api/quotes'>

const statuses = ['PENDING', 'PROCESSING', 'DONE', 'ERROR', 'CANCELLED'] as const
const filterNames = ['status'] as const
const refreshMs = 2000

export function QuoteList() {
  const words = useMessages(quotesMessages)
  const names = useMessages(statusMessages)
  const may = useCan('operator')
  const { data: session } = useSession()
  const shared = useMessages(sharedMessages)
  const [filter, setFilter] = useFilters(filterNames)
  const status = statuses.find(each => each === filter.status)
  const [creates, setCreates] = useState(false)
  const quotes = useApiList(
    'GET /api/quotes',
    { query: { limit: 50, values: 'short', ...(status !== undefined && { status }) } },
    { every: refreshMs },
  )
  const simulated = session?.systems.find(({ page }) => page === '/cotacoes/')?.simulated ?? []
  const button = may && (
    <Button look="primary" icon={Plus} onClick={() => setCreates(true)}>
      {words.new}
    </Button>
  )
  return (
    <>
      <PageHeader
        title={words.title}
        subtitle={words.subtitle}
        {...(simulated.length > 0 && { mark: <SimulatedMark names={simulated} /> })}
        {...(button && { actions: button })}
      />
      <div class="mb-3 w-48">
        <Select
          label={words.filter}
          hideLabel
          value={status ?? ''}
          onSelect={value => setFilter({ status: value })}
          options={[{ value: '', label: words.all }, ...statuses.map(value => ({ value, label: names[value] }))]}
        />
      </div>
      <Card flush>
        <StillMark
          since={quotes.data?.stillSince}
          isReading={quotes.isFetching}
          onRefresh={() => void quotes.refetch()}
        />
        <Loading of={quotes} lines={6}>
          {({ items }) => (
            <Quotes
              rows={items}
              empty={
                status === undefined ? (
                  <EmptyState
                    icon={Tags}
                    title={words.none}
                    {...(button && {
                      action: (
                        <div class="flex flex-wrap justify-center gap-2">
                          {button}
                          <Sample />
                        </div>
                      ),
                    })}
                  >
                    {words.noneHint}
                  </EmptyState>
                ) : (
                  <EmptyState icon={Tags} title={shared.noMatch} />
                )
              }
            />
          )}
        </Loading>
        {quotes.hasNextPage && (
          <div class="border-t p-2 text-center">
            <Button look="quiet" busy={quotes.isFetchingNextPage} onClick={() => void quotes.fetchNextPage()}>
              {words.more}
            </Button>
          </div>
        )}
      </Card>
      {creates && <NewQuote onClose={() => setCreates(false)} />}
    </>
  )
}

/** One quote without anything to fill in. */
function Sample() {
  const words = useMessages(quotesMessages)
  const [, navigate] = useLocation()
  const create = useAct('POST /api/quotes', () => words.started)
  const start = async () => {
    const made = await create.run({ body: { description: words.sampleDescription } })
    if (made !== undefined) navigate(`/cotacoes/${encodeURIComponent(made.id)}`)
  }
  return (
    <Button icon={FlaskConical} busy={create.busy} onClick={() => void start()}>
      {words.sample}
    </Button>
  )
}

function Quotes({ rows, empty }: { rows: readonly Quote[]; empty: preact.ComponentChildren }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  const columns: Column<Quote>[] = [
    {
      id: 'quote',
      header: words.quote,
      cell: ({ id, description, processing_checkpoint, status }) => (
        <div class="min-w-0">
          <Link href={`/cotacoes/${encodeURIComponent(id)}`} class="block truncate font-medium hover:underline">
            {description}
          </Link>
          {status === 'PROCESSING' && processing_checkpoint !== null && (
            <div class="truncate text-sm text-muted">{words.checkpoint[processing_checkpoint]}</div>
          )}
        </div>
      ),
    },
    { id: 'status', header: words.status, width: '9rem', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      id: 'progress',
      header: words.progress,
      width: '12rem',
      hide: 'nav',
      cell: ({ status, progress_percentage }) =>
        status === 'PROCESSING' ? (
          <Progress
            label={words.progress}
            total={100}
            parts={[{ value: progress_percentage, tone: 'busy', label: words.progress }]}
            done={progress_percentage}
          />
        ) : null,
    },
    {
      id: 'price',
      header: words.price,
      width: '9rem',
      align: 'right',
      hide: 'sm',
      cell: ({ result }) => (result?.price == null ? '–' : format.money(result.price, result.currency)),
    },
    {
      id: 'created',
      header: words.created,
      width: '8rem',
      hide: 'nav',
      cell: ({ created_at }) => <RelativeTime at={created_at} />,
    },
  ]
  return <Table label={words.title} columns={columns} rows={rows} keyOf={({ id }) => id} empty={empty} />
}
