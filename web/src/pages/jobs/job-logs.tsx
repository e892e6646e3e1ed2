/** The last lines that the handler wrote with ctx.log. */
import { ScrollText } from 'lucide-react'
import { useApi } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { isFinal, type JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

const readEveryMs = 2000
const mostLines = 500
const tones = { info: 'idle', warn: 'warn', error: 'bad' } as const

export function JobLogs({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  const read = useApi(
    'GET /api/v1/jobs/{id}/logs',
    { params: { id: job.id }, query: { limit: mostLines } },
    { every: isFinal(job.state) ? false : readEveryMs },
  )
  return (
    <Loading of={read}>
      {({ items }) =>
        items.length === 0 ? (
          <EmptyState icon={ScrollText} title={words.noLogs}>
            {words.noLogsHint}
          </EmptyState>
        ) : (
          <ol
            tabIndex={0}
            aria-label={words.logs}
            class="max-h-[28rem] overflow-auto rounded-md border bg-sunken p-2 font-mono text-sm"
          >
            {items.map(({ attempt, n, at, level, message, facts }) => (
              <li key={`${attempt}-${n}`} class="flex flex-wrap gap-x-2 py-0.5">
                <time dateTime={at} title={format.dateTime(at)} class="shrink-0 text-faint">
                  {format.time(at)}
                </time>
                {level !== 'info' && <Badge tone={tones[level]}>{level}</Badge>}
                <span class="min-w-0 whitespace-pre-wrap">{message}</span>
                {facts !== null && <span class="min-w-0 text-muted">{JSON.stringify(facts)}</span>}
                <span class="ml-auto text-faint">{words.attemptOf(attempt)}</span>
              </li>
            ))}
          </ol>
        )
      }
    </Loading>
  )
}
