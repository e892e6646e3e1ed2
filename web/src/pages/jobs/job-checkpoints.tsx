/** The saved steps of a job, each with its value as a tree, loaded when the step is opened. */
import { ChevronRight, Save } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { CopyButton } from '../../components/code-block.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

type Checkpoint = JobDetail['checkpoints'][number]

export function JobCheckpoints({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  const mayRead = useCan('operator')
  const columns: readonly Column<Checkpoint>[] = [
    {
      id: 'step',
      header: words.step,
      cell: ({ name, attempt, sleep_until }) =>
        sleep_until === null && mayRead ? (
          <StepValue key={attempt} job={job.id} step={name} />
        ) : (
          <>
            <span class="font-medium">{name}</span>
            {sleep_until !== null && (
              <span class="ml-2 text-sm text-muted">{words.until(format.time(sleep_until))}</span>
            )}
          </>
        ),
    },
    { id: 'attempt', header: words.attempts, align: 'right', width: '7rem', cell: each => format.number(each.attempt) },
    {
      id: 'bytes',
      header: words.bytes,
      align: 'right',
      width: '7rem',
      hide: 'sm',
      cell: each => format.bytes(each.bytes),
    },
    { id: 'at', header: words.savedAt, align: 'right', width: '9rem', cell: each => <RelativeTime at={each.at} /> },
  ]
  return (
    <Table
      label={words.checkpoints}
      columns={columns}
      rows={job.checkpoints}
      keyOf={each => each.name}
      empty={<EmptyState icon={Save} title={words.noCheckpoints} />}
    />
  )
}

function StepValue({ job, step }: { job: string; step: string }) {
  const words = useMessages(jobMessages)
  const [isOpen, setOpen] = useState(false)
  const read = useApi('GET /api/v1/jobs/{id}/checkpoints/{step}', { params: { id: job, step } }, { enabled: isOpen })
  return (
    <>
      <button
        type="button"
        class="flex max-w-full items-center gap-0.5 rounded-sm font-medium"
        aria-expanded={isOpen}
        aria-label={words.showValue(step)}
        onClick={() => setOpen(!isOpen)}
      >
        <ChevronRight size={14} className={`shrink-0 text-faint ${isOpen ? 'rotate-90' : ''}`} aria-hidden="true" />
        <span class="truncate">{step}</span>
      </button>
      {isOpen && (
        <Loading of={read} lines={2}>
          {({ value }) => (
            <div class="flex items-start gap-1 overflow-x-auto py-1">
              <JsonTree value={value} open={2} />
              <CopyButton text={JSON.stringify(value, null, 2)} />
            </div>
          )}
        </Loading>
      )}
    </>
  )
}
