/** Input, result and progress of a job as trees. */
import { CopyButton } from '../../components/code-block.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

export function JobData({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  return (
    <div class="grid gap-6 lg:grid-cols-2">
      <Value name={words.input} value={job.input} />
      <Value name={words.output} value={job.result} />
      {job.progress !== null && job.progress !== undefined && <Value name={words.progress} value={job.progress} />}
    </div>
  )
}

function Value({ name, value }: { name: string; value: unknown }) {
  const words = useMessages(jobMessages)
  const isThere = value !== null && value !== undefined
  return (
    <section class="min-w-0">
      <h3 class="mb-1 flex h-7 items-center gap-1 text-sm font-medium text-muted">
        {name}
        {isThere && <CopyButton text={JSON.stringify(value, null, 2)} />}
      </h3>
      {isThere ? <JsonTree value={value} open={2} /> : <p class="text-faint">{words.noValue}</p>}
    </section>
  )
}
