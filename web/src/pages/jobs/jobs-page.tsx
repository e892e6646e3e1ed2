/** The list of jobs: search, filters in the address, actions on a selection or on everything that the filter names. */
import { ListChecks, RotateCw } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useLongList } from '../../api/long-list.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { VirtualTable } from '../../components/virtual-table.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { SampleLink } from '../../layout/sample-link.tsx'
import { withBase } from '../../lib/base-path.ts'
import { useFilters } from '../../lib/filters.ts'
import { BulkBar } from './bulk-bar.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useJobColumns } from './job-columns.tsx'
import { appliedOf, type FilterName, filterNames, type JobFilter, queryOf } from './job-filter.ts'
import { jobMessages } from './messages.ts'

const pageSize = 100
const readEveryMs = 3000
/** A page may be empty though there is a next one; so many are read on their own before the user is asked. */
const mostEmptyPages = 20

export default function JobsPage() {
  const words = useMessages(jobMessages)
  const canAct = useCan('operator')
  const [, navigate] = useLocation()
  const [filter, setFilter] = useFilters(filterNames)
  const applied = appliedOf(filter)
  const change = (next: Partial<Record<FilterName, string | undefined>>) =>
    setFilter({ ...othersThan(applied), ...(isWithBatch(next) ? {} : { batch: undefined }), ...next })
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const list = useLongList(
    'GET /api/v1/jobs',
    { query: { ...queryOf(filter), limit: pageSize } },
    { every: readEveryMs },
  )
  const text = JSON.stringify(filter)
  const [emptyPages, setEmptyPages] = useState(0)
  useEffect(() => {
    setSelected(new Set())
    setEmptyPages(0)
  }, [text])
  const { items, hasMore, isReading, more } = list
  const ids = useMemo(() => (items ?? []).map(job => job.id), [items])
  const columns = useJobColumns(canAct, ids, selected, setSelected)
  const isEmpty = items?.length === 0
  useEffect(() => {
    if (!isEmpty || !hasMore || isReading || emptyPages >= mostEmptyPages) return
    setEmptyPages(emptyPages + 1)
    more()
  }, [isEmpty, hasMore, isReading, emptyPages, more])
  const isFiltered = Object.keys(filter).length > 0
  return (
    <>
      <PageHeader
        title={words.title}
        subtitle={words.subtitle}
        actions={
          <Button icon={RotateCw} look="quiet" onClick={list.refetch}>
            {words.refresh}
          </Button>
        }
      />
      <FilterBar filter={applied} onChange={change} />
      <Card flush>
        {canAct && (
          <BulkBar
            filter={filter}
            selected={selected}
            onClear={() => setSelected(new Set())}
            onChanged={list.refetch}
          />
        )}
        <StillMark since={list.stillSince} isReading={isReading} onRefresh={list.refetch} />
        {items === undefined ? (
          list.error === null ? (
            <Skeleton lines={10} />
          ) : (
            <ErrorState error={list.error} onRetry={list.refetch} />
          )
        ) : (
          <VirtualTable
            label={words.title}
            columns={columns}
            rows={items}
            keyOf={job => job.id}
            onRow={job => navigate(`/jobs/${job.id}`)}
            onEnd={more}
            empty={
              hasMore ? (
                <EmptyState
                  icon={ListChecks}
                  title={words.looking}
                  action={emptyPages < mostEmptyPages ? undefined : <Button onClick={more}>{words.lookFurther}</Button>}
                />
              ) : isFiltered ? (
                <EmptyState icon={ListChecks} title={words.noneFound} />
              ) : (
                <NoJobs />
              )
            }
          />
        )}
      </Card>
    </>
  )
}

/** Removes from the address what the list does not apply. */
const othersThan = (applied: JobFilter): Partial<Record<FilterName, undefined>> =>
  Object.fromEntries(filterNames.filter(name => applied[name] === undefined).map(name => [name, undefined]))

/** With a batch, the API takes the state alone, so another field replaces the batch. */
const isWithBatch = (change: Partial<Record<FilterName, string | undefined>>): boolean =>
  Object.entries(change).every(([name, value]) => name === 'state' || name === 'batch' || !value)

function NoJobs() {
  const words = useMessages(jobMessages)
  const command = [
    `curl -H 'content-type: application/json' \\`,
    `  -d '{"kind":"hello","input":{"name":"Ana"}}' \\`,
    `  ${location.origin}${withBase('/api/v1/jobs')}`,
  ].join('\n')
  return (
    <EmptyState
      icon={ListChecks}
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
