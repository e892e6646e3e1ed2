/** Input, result and progress of a job as trees. A large value is loaded when somebody asks for it. */
import { Download } from 'lucide-react'
import { useState } from 'react'
import { useApi } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/code-block.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Progress } from '../../components/progress.tsx'
import { Loading } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

type Field = 'input' | 'result' | 'progress'

export function JobData({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const hasProgress = (job.progress !== null && job.progress !== undefined) || job.omitted?.progress !== undefined
  return (
    <div class="grid gap-6 lg:grid-cols-2">
      <Value job={job} field="input" name={words.input} />
      <Value job={job} field="result" name={words.output} />
      {hasProgress && <JobProgress job={job} />}
    </div>
  )
}

/** What `ctx.progress` writes as a bar; any other value is a tree. */
function JobProgress({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  const { done, total, note } = (job.progress ?? {}) as { done?: unknown; total?: unknown; note?: unknown }
  if (typeof done !== 'number' || typeof total !== 'number' || total <= 0)
    return <Value job={job} field="progress" name={words.progress} />
  return (
    <section class="min-w-0">
      <h3 class="mb-1 flex h-7 items-center text-sm font-medium text-muted">{words.progress}</h3>
      <p class="mb-1.5 flex items-baseline gap-2">
        <span class="font-medium">{words.doneOf(format.number(done), format.number(total))}</span>
        {typeof note === 'string' && <span class="truncate text-muted">{note}</span>}
        <span class="ml-auto text-muted">{format.percent(Math.min(100, (done / total) * 100))}</span>
      </p>
      <Progress
        label={words.progress}
        parts={[{ value: Math.min(done, total), tone: 'busy', label: words.progress }]}
        total={total}
        size="md"
      />
    </section>
  )
}

interface ValueProps {
  job: JobDetail
  field: Field
  name: string
}

function Value({ job, field, name }: ValueProps) {
  const omitted = job.omitted?.[field]
  if (omitted !== undefined) return <LargeValue job={job} field={field} name={name} bytes={omitted.bytes} />
  return <ShownValue name={name} value={job[field]} />
}

/** `bytes`: the stored size, which is smaller than the text if the database has compressed it. */
function LargeValue({ job, field, name, bytes }: ValueProps & { bytes: number }) {
  const words = useMessages(jobMessages)
  const format = useFormat()
  const [isAsked, setAsked] = useState(false)
  const whole = useApi('GET /api/v1/jobs/{id}', { params: { id: job.id } }, { enabled: isAsked })
  if (isAsked) return <Loading of={whole}>{data => <ShownValue name={name} value={data[field]} />}</Loading>
  return (
    <section class="min-w-0">
      <h3 class="mb-1 flex h-7 items-center text-sm font-medium text-muted">{name}</h3>
      <Button size="sm" icon={Download} onClick={() => setAsked(true)}>
        {words.loadValue(format.bytes(bytes))}
      </Button>
    </section>
  )
}

function ShownValue({ name, value }: { name: string; value: unknown }) {
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
