/** The schedules: recurrence, next and last time, and a button that runs one now. */
import { CalendarClock, CircleOff, Play } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { type ItemOf, useAction, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { schedulesMessages } from './messages.ts'

type Schedule = ItemOf<'GET /api/v1/schedules'>

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

function Schedules({ rows }: { rows: readonly Schedule[] }) {
  const words = useMessages(schedulesMessages)
  const format = useFormat()
  const may = useCan('operator')
  const columns: Column<Schedule>[] = [
    {
      id: 'name',
      header: words.schedule,
      cell: ({ name, kind, active, next_at }) => (
        <div class="min-w-0">
          <div class="flex min-w-0 items-center gap-2">
            <span class="truncate font-medium">{name}</span>
            {!active && (
              <Badge tone="warn" icon={CircleOff} title={words.inactiveHint}>
                {words.inactive}
              </Badge>
            )}
          </div>
          <div class="truncate text-sm text-muted">
            {kind}
            {active && (
              <span class="sm:hidden">
                , <RelativeTime at={next_at} />
              </span>
            )}
          </div>
        </div>
      ),
    },
    {
      id: 'recurrence',
      header: words.recurrence,
      hide: 'nav',
      cell: ({ cron, every_ms, time_zone }) => (
        <div class="min-w-0">
          <div class={cron === undefined ? '' : 'font-mono text-sm'}>
            {cron ?? words.every(format.duration(every_ms ?? 0))}
          </div>
          {time_zone !== undefined && <div class="truncate text-sm text-muted">{words.timeZone(time_zone)}</div>}
        </div>
      ),
    },
    {
      id: 'next',
      header: words.next,
      width: '11rem',
      hide: 'sm',
      cell: ({ next_at, active }) =>
        active ? (
          <div>
            <RelativeTime at={next_at} />
            <div class="text-sm text-muted">{format.dateTime(next_at)}</div>
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
            width: '9.5rem',
            align: 'right' as const,
            cell: (schedule: Schedule) => <RunNow schedule={schedule} />,
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

function RunNow({ schedule: { name } }: { schedule: Schedule }) {
  const words = useMessages(schedulesMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const run = useAction('POST /api/v1/schedules/{name}/run')
  const start = () =>
    run.mutate(
      { params: { name } },
      {
        onSuccess: ({ id, created }) =>
          toast.show('good', created ? words.ran(id) : words.joined(id), {
            label: words.open,
            run: () => navigate(`/jobs/${encodeURIComponent(id)}`),
          }),
        onError: error => toast.show('bad', error.message),
      },
    )
  return (
    <Button size="sm" icon={Play} busy={run.isPending} onClick={start} aria-label={`${words.run}: ${name}`}>
      {words.run}
    </Button>
  )
}
