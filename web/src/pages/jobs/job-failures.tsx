/** The failures of a job, the newest first, each with its stack folded. */
import { CircleCheck } from 'lucide-react'
import { Badge } from '../../components/badge.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'
import { timelineMessages } from './timeline-messages.ts'

export function JobFailures({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const parts = useMessages(timelineMessages)
  if (job.history.length === 0) return <EmptyState icon={CircleCheck} title={words.noFailures} />
  return (
    <ol class="flex flex-col gap-3">
      {job.history.toReversed().map(({ attempt, type, code, message, stack, evidence, worker, at }) => (
        <li key={attempt} class="rounded-md border px-3 py-2">
          <p class="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-muted">
            <Badge tone="bad">{parts.failureType[type] ?? type}</Badge>
            {code !== null && <Badge>{code}</Badge>}
            <span>{words.attemptBar(attempt)}</span>
            {worker !== null && <span>{worker}</span>}
            <span class="ml-auto">
              <RelativeTime at={at} />
            </span>
          </p>
          <p class="mt-1 font-medium whitespace-pre-wrap">{message}</p>
          {stack !== null && (
            <details class="mt-2">
              <summary class="cursor-pointer text-sm text-muted">{words.showStack}</summary>
              <div class="mt-1">
                <CodeBlock text={stack} label={words.showStack} />
              </div>
            </details>
          )}
          {evidence !== null && (
            <details class="mt-2">
              <summary class="cursor-pointer text-sm text-muted">{words.evidence}</summary>
              <div class="mt-1">
                <JsonTree value={evidence} />
              </div>
            </details>
          )}
        </li>
      ))}
    </ol>
  )
}
