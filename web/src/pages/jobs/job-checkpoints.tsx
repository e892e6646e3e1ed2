/** The saved steps of a job. */
import { Save } from 'lucide-react'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

type Checkpoint = JobDetail['checkpoints'][number]

export function JobCheckpoints({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  const columns: readonly Column<Checkpoint>[] = [
    {
      id: 'step',
      header: words.step,
      cell: ({ name, sleep_until }) => (
        <>
          <span class="font-medium">{name}</span>
          {sleep_until !== null && <span class="ml-2 text-sm text-muted">{words.until(format.time(sleep_until))}</span>}
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
