/** The jobs of the planner, the newest first; a form for a schedule, and places to drop spreadsheets and images. */
import { CalendarRange, Plus } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { type ItemOf, queryClient, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { upload } from '../../api/upload.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DropZone } from '../../components/drop-zone.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { StatusBadge } from '../shared/status-badge.tsx'
import { UploadList } from '../shared/upload-list.tsx'
import { useUploads } from '../shared/uploads.ts'
import { plannerMessages } from './messages.ts'
import { NewSchedule } from './new-schedule.tsx'

type Job = ItemOf<'GET /api/planner/jobs'>

const refreshMs = 2000

const useFilesOf = (path: string) =>
  useUploads(path, {
    send(file, options) {
      const form = new FormData()
      form.append('file', file)
      return upload(path, form, options)
    },
    onSent: () => void queryClient.invalidateQueries({ queryKey: ['GET /api/planner/jobs'] }),
  })

export function PlannerJobs() {
  const words = useMessages(plannerMessages)
  const may = useCan('operator')
  const [creates, setCreates] = useState(false)
  const jobs = useApiList('GET /api/planner/jobs', { query: { limit: 50 } }, { every: refreshMs })
  const tables = useFilesOf('/api/planner/extract-demand')
  const images = useFilesOf('/api/planner/generate-thumbnail')
  const button = may && (
    <Button look="primary" icon={Plus} onClick={() => setCreates(true)}>
      {words.newSchedule}
    </Button>
  )
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} {...(button && { actions: button })} />
      <div class="flex flex-col gap-4">
        {may && (
          <div class="grid gap-4 lg:grid-cols-2">
            <DropZone
              compact
              title={words.dropTable}
              hint={words.dropTableHint}
              accept=".csv,.xlsx"
              onFiles={tables.add}
            />
            <DropZone
              compact
              title={words.dropImage}
              hint={words.dropImageHint}
              accept="image/*,.pdf"
              onFiles={images.add}
            />
          </div>
        )}
        <UploadList uploads={tables} />
        <UploadList uploads={images} />
        <Card flush>
          <StillMark since={jobs.data?.stillSince} isReading={jobs.isFetching} onRefresh={() => void jobs.refetch()} />
          <Loading of={jobs} lines={6}>
            {({ items }) => (
              <Jobs
                rows={items}
                empty={
                  <EmptyState icon={CalendarRange} title={words.none} {...(button && { action: button })}>
                    {words.noneHint}
                  </EmptyState>
                }
              />
            )}
          </Loading>
          {jobs.hasNextPage && (
            <div class="border-t p-2 text-center">
              <Button look="quiet" busy={jobs.isFetchingNextPage} onClick={() => void jobs.fetchNextPage()}>
                {words.more}
              </Button>
            </div>
          )}
        </Card>
      </div>
      {creates && <NewSchedule onClose={() => setCreates(false)} />}
    </>
  )
}

function Jobs({ rows, empty }: { rows: readonly Job[]; empty: preact.ComponentChildren }) {
  const words = useMessages(plannerMessages)
  const format = useFormat()
  const columns: Column<Job>[] = [
    {
      id: 'job',
      header: words.job,
      cell: ({ id, kind, error_message }) => (
        <div class="min-w-0">
          <Link href={`/planejador/${encodeURIComponent(id)}`} class="font-medium hover:underline">
            {words.kind[kind]} {id}
          </Link>
          {error_message !== null && <div class="truncate text-sm text-bad">{error_message}</div>}
        </div>
      ),
    },
    { id: 'status', header: words.status, width: '9rem', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      id: 'took',
      header: words.took,
      width: '8rem',
      align: 'right',
      hide: 'sm',
      cell: ({ started_at, completed_at }) =>
        started_at === null || completed_at === null
          ? '–'
          : format.duration(Date.parse(completed_at) - Date.parse(started_at)),
    },
    {
      id: 'created',
      header: words.created,
      width: '8rem',
      hide: 'sm',
      cell: ({ created_at }) => <RelativeTime at={created_at} />,
    },
  ]
  return <Table label={words.title} columns={columns} rows={rows} keyOf={({ id }) => id} empty={empty} />
}
