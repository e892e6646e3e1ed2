/** The last lines that the handler wrote with ctx.log, of the last attempt or of an earlier one. */
import { ScrollText } from 'lucide-react'
import { useState } from 'react'
import { type ItemOf, useApi } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Select } from '../../components/field.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { isFinal, type JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

const readEveryMs = 2000
/** More than an attempt keeps. */
const mostLines = 500
/** Lines of so many attempts are kept. */
const keptAttempts = 10
const tones = { info: 'idle', warn: 'warn', error: 'bad' } as const

type Line = ItemOf<'GET /api/v1/jobs/{id}/logs'>

export function JobLogs({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const [chosen, choose] = useState<number>()
  // A job that has never started has no attempt, and no lines.
  const attempt = chosen ?? Math.max(1, job.attempt)
  const read = useApi(
    'GET /api/v1/jobs/{id}/logs',
    { params: { id: job.id }, query: { attempt, limit: mostLines } },
    { every: isFinal(job.state) ? false : readEveryMs },
  )
  const attempts = job.attempts.slice(-keptAttempts).map(each => each.attempt)
  return (
    <div class="flex flex-col gap-3">
      {attempts.length > 1 && (
        <div class="w-40">
          <Select
            label={words.logsOf}
            value={String(attempt)}
            onSelect={value => choose(Number(value))}
            options={attempts.toReversed().map(each => ({ value: String(each), label: words.attemptBar(each) }))}
          />
        </div>
      )}
      <Loading of={read}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState icon={ScrollText} title={attempts.length > 1 ? words.noLogsOf(attempt) : words.noLogs}>
              {words.noLogsHint}
            </EmptyState>
          ) : (
            <Lines lines={items} />
          )
        }
      </Loading>
    </div>
  )
}

function Lines({ lines }: { lines: readonly Line[] }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  return (
    <ol
      tabIndex={0}
      aria-label={words.logs}
      class="max-h-[28rem] overflow-auto rounded-md border bg-sunken p-2 font-mono text-sm"
    >
      {lines.map(({ n, at, level, message, facts }) => (
        <li key={n} class="flex flex-wrap gap-x-2 py-0.5">
          <time dateTime={at} title={format.dateTime(at)} class="shrink-0 text-faint">
            {format.time(at)}
          </time>
          {level !== 'info' && <Badge tone={tones[level]}>{level}</Badge>}
          <span class="min-w-0 whitespace-pre-wrap">{message}</span>
          {facts !== null && <span class="min-w-0 text-muted">{JSON.stringify(facts)}</span>}
        </li>
      ))}
    </ol>
  )
}
