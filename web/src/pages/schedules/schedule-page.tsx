/** One schedule: its recurrence in words, its next ten times, its last jobs, and its actions. */
import { CalendarClock } from 'lucide-react'
import { Link, useLocation, useParams } from 'wouter'
import { type ItemOf, useApi, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Card } from '../../components/card.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { schedulesMessages } from './messages.ts'
import { PauseSchedule, RunNow, type Schedule } from './schedule-actions.tsx'
import { ScheduleMarks } from './schedule-marks.tsx'

type Run = ItemOf<'GET /api/v1/schedules/{name}/runs'>

const refreshMs = 5000

export default function SchedulePage() {
  const { name = '' } = useParams<{ name: string }>()
  const words = useMessages(schedulesMessages)
  const schedules = useApiList('GET /api/v1/schedules', { query: { limit: 500 } }, { every: refreshMs })
  return (
    <Loading of={schedules}>
      {({ items }) => {
        const schedule = items.find(each => each.name === name)
        if (schedule !== undefined) return <OneSchedule schedule={schedule} />
        return (
          <EmptyState
            icon={CalendarClock}
            title={words.notFound(name)}
            action={
              <Link href="/schedules" class="font-medium text-accent hover:underline">
                {words.allSchedules}
              </Link>
            }
          />
        )
      }}
    </Loading>
  )
}

function OneSchedule({ schedule }: { schedule: Schedule }) {
  const words = useMessages(schedulesMessages)
  const may = useCan('operator')
  const { name, kind } = schedule
  const occurrences = useApi('GET /api/v1/schedules/{name}/occurrences', { params: { name } }, { every: refreshMs })
  const runs = useApi('GET /api/v1/schedules/{name}/runs', { params: { name } }, { every: refreshMs })
  return (
    <>
      <PageHeader
        title={name}
        mark={<ScheduleMarks schedule={schedule} />}
        subtitle={
          <span>
            {kind}
            {occurrences.data !== undefined && `, ${occurrences.data.words}`}
          </span>
        }
        actions={
          may && (
            <>
              <RunNow schedule={schedule} />
              <PauseSchedule schedule={schedule} />
            </>
          )
        }
      />
      <div class="grid gap-4 lg:grid-cols-2">
        <Card title={words.nextTimes} hint={schedule.paused ? words.pausedHint : words.localTime}>
          <Loading of={occurrences} lines={10}>
            {({ items }) => <Times times={items} />}
          </Loading>
        </Card>
        <Card title={words.lastRuns} flush>
          <Loading of={runs} lines={10}>
            {({ items }) => <Runs rows={items} />}
          </Loading>
        </Card>
      </div>
    </>
  )
}

function Times({ times }: { times: readonly string[] }) {
  const words = useMessages(schedulesMessages)
  const format = useFormat()
  return (
    <ol aria-label={words.nextTimes} class="flex flex-col gap-1">
      {times.map(at => (
        <li key={at} class="flex flex-wrap gap-x-3">
          <span class="min-w-48">{format.weekdayTime(at)}</span>
          <span class="text-muted">
            <RelativeTime at={at} />
          </span>
        </li>
      ))}
    </ol>
  )
}

function Runs({ rows }: { rows: readonly Run[] }) {
  const words = useMessages(schedulesMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const columns: Column<Run>[] = [
    {
      id: 'job',
      header: words.job,
      cell: ({ id, ref }) => (
        <Link href={`/jobs/${encodeURIComponent(id)}`} class="block truncate font-medium hover:underline">
          {ref ?? `#${id}`}
        </Link>
      ),
    },
    { id: 'state', header: words.state, width: '8rem', cell: ({ state }) => <StateBadge state={state} /> },
    {
      id: 'duration',
      header: words.duration,
      width: '6rem',
      align: 'right',
      hide: 'sm',
      cell: ({ started_at, finished_at }) =>
        started_at === null || finished_at === null
          ? '–'
          : format.duration(Date.parse(finished_at) - Date.parse(started_at)),
    },
    {
      id: 'created',
      header: words.when,
      width: '7rem',
      align: 'right',
      cell: ({ created_at }) => <RelativeTime at={created_at} />,
    },
  ]
  return (
    <Table
      label={words.lastRuns}
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      onRow={({ id }) => navigate(`/jobs/${encodeURIComponent(id)}`)}
      empty={<EmptyState icon={CalendarClock} title={words.noRuns} />}
    />
  )
}
