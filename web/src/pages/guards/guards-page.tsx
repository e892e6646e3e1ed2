/** The guards: last sweep, rows marked, errors; a dry run shows the lost rows before a sweep marks them. */
import { CircleCheck, CircleOff, CircleX, ClockAlert, ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import { Link, useParams } from 'wouter'
import { type ItemOf, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { DryRun } from './dry-run.tsx'
import { GuardFacts } from './guard-facts.tsx'
import { guardsMessages } from './messages.ts'

type Guard = ItemOf<'GET /api/v1/guards'>

const refreshMs = 10_000

export default function GuardsPage() {
  const words = useMessages(guardsMessages)
  const guards = useApiList('GET /api/v1/guards', { query: { limit: 500 } }, { every: refreshMs })
  const { name: one } = useParams()
  if (one !== undefined) return <OneGuard name={one} guards={guards} />
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Loading of={guards}>
        {({ items }) => (
          <div class="flex flex-col gap-4">
            {items.map(guard => (
              <Failing key={guard.name} guard={guard} />
            ))}
            <Card flush>
              <Guards rows={items} />
            </Card>
          </div>
        )}
      </Loading>
    </>
  )
}

function Failing({ guard: { name, last_error, failing_since } }: { guard: Guard }) {
  const words = useMessages(guardsMessages)
  if (last_error === null || failing_since === null) return null
  return (
    <Sentence kind="bad" hint={<RelativeTime at={failing_since} />}>
      {words.failingSince(name, last_error.message)}
    </Sentence>
  )
}

function OneGuard({ name, guards }: { name: string; guards: ReturnType<typeof useApiList<'GET /api/v1/guards'>> }) {
  const words = useMessages(guardsMessages)
  const may = useCan('operator')
  const [isChecked, setChecked] = useState(false)
  return (
    <Loading of={guards}>
      {({ items }) => {
        const guard = items.find(each => each.name === name)
        return (
          <>
            <PageHeader
              title={guard === undefined ? words.notFound : name}
              parent={{ href: '/guards', name: words.title }}
              {...(guard !== undefined && { mark: <GuardState guard={guard} /> })}
              {...(guard !== undefined &&
                may && { actions: <Button onClick={() => setChecked(true)}>{words.check}</Button> })}
            />
            {guard === undefined ? (
              <EmptyState icon={ShieldCheck} title={words.notFound} />
            ) : (
              <div class="flex flex-col gap-4">
                <Failing guard={guard} />
                <GuardFacts guard={guard} />
              </div>
            )}
            {isChecked && <DryRun name={name} onClose={() => setChecked(false)} />}
          </>
        )
      }}
    </Loading>
  )
}

function Guards({ rows }: { rows: readonly Guard[] }) {
  const words = useMessages(guardsMessages)
  const format = useFormat()
  const may = useCan('operator')
  const [checked, setChecked] = useState<string>()
  const columns: Column<Guard>[] = [
    {
      id: 'name',
      header: words.guard,
      cell: ({ name, table, status, total, last_sweep_at }) => (
        <div class="min-w-0">
          <Link href={`/guards/${encodeURIComponent(name)}`} class="block truncate font-medium hover:underline">
            {name}
          </Link>
          <div class="truncate font-mono text-sm text-muted">
            {table}, {words.running(status.column, status.running.map(each => each ?? 'null').join(', '))}
          </div>
          <div class="text-sm text-muted nav:hidden">
            {words.total}: {format.number(total)} · <RelativeTime at={last_sweep_at} />
          </div>
        </div>
      ),
    },
    { id: 'state', header: words.state, width: '8rem', cell: guard => <GuardState guard={guard} /> },
    {
      id: 'after',
      header: words.lostAfter,
      width: '8rem',
      hide: 'lg',
      cell: ({ after_ms }) => format.duration(after_ms),
    },
    {
      id: 'sweep',
      header: words.lastSweep,
      width: '9rem',
      hide: 'sm',
      cell: ({ last_sweep_at }) => <RelativeTime at={last_sweep_at} />,
    },
    {
      id: 'marked',
      header: words.lastMarked,
      width: '6rem',
      align: 'right',
      hide: 'nav',
      cell: ({ last_marked }) => format.number(last_marked),
    },
    {
      id: 'total',
      header: words.total,
      width: '6rem',
      align: 'right',
      hide: 'nav',
      cell: ({ total }) => format.number(total),
    },
    ...(may
      ? [
          {
            id: 'check',
            header: <span class="sr-only">{words.check}</span>,
            width: '7rem',
            align: 'right' as const,
            cell: ({ name }: Guard) => (
              <Button size="sm" onClick={() => setChecked(name)} aria-label={`${words.check}: ${name}`}>
                {words.check}
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <Table
        label={words.title}
        columns={columns}
        rows={rows}
        keyOf={({ name }) => name}
        empty={
          <EmptyState icon={ShieldCheck} title={words.none}>
            <p class="mb-3">{words.noneHint}</p>
            <CodeBlock text="npx retoma init" label="npx retoma init" />
          </EmptyState>
        }
      />
      {checked !== undefined && <DryRun name={checked} onClose={() => setChecked(undefined)} />}
    </>
  )
}

function GuardState({ guard: { active, late, failing_since } }: { guard: Guard }) {
  const words = useMessages(guardsMessages)
  if (failing_since !== null)
    return (
      <Badge tone="bad" icon={CircleX}>
        {words.failing}
      </Badge>
    )
  if (!active)
    return (
      <Badge tone="warn" icon={CircleOff} title={words.inactiveHint}>
        {words.inactive}
      </Badge>
    )
  if (late)
    return (
      <Badge tone="warn" icon={ClockAlert}>
        {words.late}
      </Badge>
    )
  return (
    <Badge tone="good" icon={CircleCheck}>
      {words.onTime}
    </Badge>
  )
}
