/** The schedules: recurrence, next and last time, and the buttons that run and pause one. */
import { CalendarClock } from 'lucide-react'
import { Link } from 'wouter'
import { useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { schedulesMessages } from './messages.ts'
import { PauseSchedule, RunNow, type Schedule } from './schedule-actions.tsx'
import { ScheduleMarks } from './schedule-marks.tsx'

const refreshMs = 10_000
const example = "defineSchedule({ name: 'report', cron: '0 8 * * 1', timeZone: 'America/Sao_Paulo', job: report })"

export default function SchedulesPage() {
  const words = useMessages(schedulesMessages)
  const schedules = useApiList('GET /api/v1/schedules', { query: { limit: 500 } }, { every: refreshMs })
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Card flush>
        <Loading of={schedules}>{({ items }) => <Schedules rows={items} />}</Loading>
      </Card>
    </>
  )
}

const fires = ({ active, paused }: Schedule) => active && !paused

function Schedules({ rows }: { rows: readonly Schedule[] }) {
  const words = useMessages(schedulesMessages)
  const format = useFormat()
  const may = useCan('operator')
  const columns: Column<Schedule>[] = [
    {
      id: 'name',
      header: words.schedule,
      cell: schedule => (
        <div class="min-w-0">
          <div class="flex min-w-0 flex-wrap items-center gap-x-2">
            <Link href={`/schedules/${encodeURIComponent(schedule.name)}`} class="truncate font-medium hover:underline">
              {schedule.name}
            </Link>
            <ScheduleMarks schedule={schedule} />
          </div>
          {schedule.kind !== schedule.name && (
            <div class="truncate text-sm text-muted max-sm:hidden">{schedule.kind}</div>
          )}
          <div class="text-sm text-muted sm:hidden">
            {schedule.words}
            {fires(schedule) && (
              <>
                , <RelativeTime at={schedule.next_at} />
              </>
            )}
          </div>
        </div>
      ),
    },
    {
      id: 'recurrence',
      header: words.recurrence,
      hide: 'nav',
      cell: ({ cron, words: recurrence }) => (
        <div class="min-w-0">
          <div class="first-letter:uppercase">{recurrence}</div>
          {cron !== undefined && <div class="truncate font-mono text-sm text-muted">{cron}</div>}
        </div>
      ),
    },
    {
      id: 'next',
      header: words.next,
      width: '11rem',
      hide: 'sm',
      cell: schedule =>
        fires(schedule) ? (
          <div>
            <RelativeTime at={schedule.next_at} />
            <div class="text-sm whitespace-nowrap text-muted">{format.weekdayTime(schedule.next_at)}</div>
          </div>
        ) : (
          '–'
        ),
    },
    {
      id: 'last',
      header: words.last,
      width: '9rem',
      hide: 'sm',
      cell: ({ last_at, last_job }) => (
        <div>
          <RelativeTime at={last_at} />
          {last_job !== null && (
            <div>
              <Link href={`/jobs/${encodeURIComponent(last_job)}`} class="text-sm text-accent hover:underline">
                {words.lastJob}
              </Link>
            </div>
          )}
        </div>
      ),
    },
    ...(may
      ? [
          {
            id: 'run',
            header: <span class="sr-only">{words.run}</span>,
            width: '17rem',
            align: 'right' as const,
            hide: 'sm' as const,
            cell: (schedule: Schedule) => (
              <span class="flex justify-end gap-2">
                <RunNow schedule={schedule} size="sm" />
                <PauseSchedule schedule={schedule} size="sm" />
              </span>
            ),
          },
        ]
      : []),
  ]
  return (
    <Table
      label={words.title}
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
      empty={
        <EmptyState icon={CalendarClock} title={words.none}>
          <p class="mb-3">{words.noneHint}</p>
          <CodeBlock text={example} label={words.schedule} />
        </EmptyState>
      }
    />
  )
}
