/** The actions on one job, each with a sentence on what it will do. */
import { useState } from 'react'
import { Confirm } from '../../components/dialog.tsx'
import { Input } from '../../components/field.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { useAct } from '../../layout/use-act.ts'
import type { JobActionName, JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

interface JobDialogProps {
  job: JobDetail
  action: JobActionName
  onClose(): void
}

export function JobDialog({ job, action, onClose }: JobDialogProps) {
  const words = useMessages(jobMessages)
  const states = useMessages(stateMessages)
  const [reason, setReason] = useState('')
  const effect = ({ state, changed }: { state: keyof typeof states; changed: boolean }) =>
    (changed ? words.acted : words.unchanged)(states[state])
  const acts = {
    retry: useAct('POST /api/v1/jobs/{id}/retry', effect),
    resume: useAct('POST /api/v1/jobs/{id}/resume', effect),
    rerun: useAct('POST /api/v1/jobs/{id}/rerun', effect),
    cancel: useAct('POST /api/v1/jobs/{id}/cancel', effect),
  }
  const skip = useAct('POST /api/v1/jobs/{id}/skip', effect)
  const params = { id: job.id }
  const confirm = () => {
    const done =
      action === 'skip'
        ? skip.run({ params, body: reason.trim() === '' ? {} : { reason: reason.trim() } })
        : acts[action].run({ params })
    void done.then(onClose)
  }
  const texts: Record<JobActionName, string> = {
    retry: words.retryWhat,
    resume: words.resumeWhat,
    rerun: words.rerunWhat,
    skip: words.skipWhat,
    cancel: words.cancelWhat,
  }
  return (
    <Confirm
      title={`${words[action]}: ${job.kind} #${job.id}`}
      action={words[action]}
      danger={action === 'cancel' || action === 'rerun'}
      busy={skip.busy || Object.values(acts).some(act => act.busy)}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div class="flex flex-col gap-3">
        <p>{texts[action]}</p>
        {action === 'skip' && (
          <Input
            label={words.reason}
            value={reason}
            maxLength={1000}
            onInput={event => setReason(event.currentTarget.value)}
          />
        )}
      </div>
    </Confirm>
  )
}
