/** The last failed jobs, grouped by their cause. */
import { CircleCheck } from 'lucide-react'
import { Link } from 'wouter'
import type { Answer } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { Card } from '../../components/card.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { overviewMessages } from './messages.ts'

type FailedJob = Answer<'GET /api/v1/jobs'>['items'][number]

const looksAt = 100
const shownGroups = 6

interface Group {
  cause: string
  count: number
  /** The newest job of the group. */
  example: FailedJob
}

/** Groups by kind and cause, the largest group first. The list is newest first. */
function groupsOf(jobs: readonly FailedJob[]): Group[] {
  const groups = new Map<string, Group>()
  for (const job of jobs) {
    const cause = job.error?.cause ?? job.error?.message ?? '?'
    const key = `${job.kind} ${cause}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { cause, count: 1, example: job })
    else group.count++
  }
  return [...groups.values()].sort((a, b) => b.count - a.count)
}

const link = 'text-sm font-medium text-accent hover:underline'

export function FailuresCard() {
  const words = useMessages(overviewMessages)
  const failed = useApi('GET /api/v1/jobs', { query: { state: 'failed', limit: looksAt } }, { every: 15_000 })
  return (
    <Card
      title={words.failures}
      flush
      {...(failed.data !== undefined && failed.data.items.length > 0
        ? { hint: words.failuresHint(failed.data.items.length) }
        : {})}
      actions={
        <Link href="/jobs?state=failed" class={link}>
          {words.allFailures}
        </Link>
      }
    >
      <Loading of={failed}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={CircleCheck} title={words.noFailures} small>
              {words.noFailuresHint}
            </EmptyState>
          ) : (
            <ul>
              {groupsOf(items)
                .slice(0, shownGroups)
                .map(group => (
                  <FailureGroup key={`${group.example.kind} ${group.cause}`} group={group} />
                ))}
            </ul>
          )
        }
      </Loading>
    </Card>
  )
}

function FailureGroup({ group: { count, example } }: { group: Group }) {
  const words = useMessages(overviewMessages)
  const at = (example as { finished_at?: string | null }).finished_at ?? null
  return (
    <li class="border-b last:border-b-0">
      <Link href={`/jobs/${example.id}`} class="flex items-start gap-3 px-4 py-2 hover:bg-hover">
        <span class="w-10 shrink-0 text-right font-medium text-bad">{words.times(count)}</span>
        <span class="min-w-0 flex-1">
          <span class="line-clamp-2">{example.error?.message ?? '–'}</span>
          <span class="block truncate text-sm text-muted">
            {example.kind}
            {at !== null && (
              <>
                {' · '}
                <RelativeTime at={at} />
              </>
            )}
          </span>
        </span>
      </Link>
    </li>
  )
}
