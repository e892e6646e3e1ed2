/** The groups of a queue with what they use of their limits, the full ones first. */
import { CircleAlert, CircleCheck } from 'lucide-react'
import { Link } from 'wouter'
import { type ItemOf, useApi } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Card } from '../../components/card.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { Limits } from './limits-text.ts'
import { queuesMessages } from './messages.ts'

type Group = ItemOf<'GET /api/v1/queues/{name}/groups'>

const refreshMs = 3000
const shownGroups = 50

interface QueueGroupsProps {
  queue: string
  limits: Limits
}

/** Nothing for a queue without limits of groups: such a queue counts no groups. */
export function QueueGroups({ queue, limits }: QueueGroupsProps) {
  if (limits.per_group === undefined) return null
  return <Groups queue={queue} />
}

function Groups({ queue }: { queue: string }) {
  const words = useMessages(queuesMessages)
  const format = useFormat()
  const read = useApi(
    'GET /api/v1/queues/{name}/groups',
    { params: { name: queue }, query: { limit: shownGroups } },
    { every: refreshMs },
  )
  const full = read.data?.items.filter(each => each.full).length ?? 0
  const columns: Column<Group>[] = [
    {
      id: 'group',
      header: words.group,
      cell: ({ group }) => (
        <Link
          href={`/jobs?queue=${encodeURIComponent(queue)}&group=${encodeURIComponent(group)}`}
          class="block truncate font-medium hover:underline"
        >
          {group}
        </Link>
      ),
    },
    {
      id: 'state',
      header: words.use,
      width: '8rem',
      cell: each =>
        each.full ? (
          <Badge tone="warn" icon={CircleAlert} title={words.fullHint}>
            {words.full}
          </Badge>
        ) : (
          <Badge tone="good" icon={CircleCheck}>
            {words.free}
          </Badge>
        ),
    },
    {
      id: 'running',
      header: words.running,
      width: '8rem',
      align: 'right',
      cell: ({ running, concurrency }) => (
        <>
          {format.number(running)}
          {concurrency !== null && <span class="text-faint"> / {format.number(concurrency)}</span>}
        </>
      ),
    },
    {
      id: 'starts',
      header: words.starts,
      width: '12rem',
      align: 'right',
      hide: 'sm',
      cell: ({ starts, rate }) =>
        starts === null || rate === null
          ? '–'
          : `${format.number(starts)} / ${words.perTime(rate.limit, format.duration(rate.per_ms))}`,
    },
  ]
  return (
    <Card title={words.groups} hint={words.fullGroups(full)} flush>
      <Loading of={read}>
        {({ items }) => (
          <Table
            label={words.groups}
            columns={columns}
            rows={items}
            keyOf={({ group }) => group}
            empty={<EmptyState title={words.noGroups} />}
          />
        )}
      </Loading>
    </Card>
  )
}
