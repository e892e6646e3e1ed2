/** The actions on a batch. Each dialog says, before it is confirmed, how many items the action moves. */
import { useState } from 'react'
import { Confirm } from '../../components/dialog.tsx'
import { Input } from '../../components/field.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { useAct } from '../../layout/use-act.ts'
import { type BatchView, isOpen, unfinishedOf } from './batch-model.ts'
import { batchMessages } from './messages.ts'

/** What the user was asked to confirm. */
export type Asked =
  | { do: 'pause' | 'resume' | 'cancel' | 'priority' }
  | { do: 'retry'; cause?: { id: string; count: number; more: boolean } }

const canPause: readonly string[] = ['submitting', 'waiting', 'running']

/** The actions that make sense in the state of the batch. */
export const possible = (batch: BatchView) => ({
  pause: canPause.includes(batch.state),
  resume: batch.state === 'paused' || batch.state === 'stalled',
  retry: batch.failed > 0 && batch.state !== 'cancelled',
  cancel: isOpen(batch),
  priority: isOpen(batch),
})

interface DialogProps {
  batch: BatchView
  onClose(): void
}

export function BatchDialog({ asked, batch, onClose }: DialogProps & { asked: Asked }) {
  switch (asked.do) {
    case 'pause':
      return <PauseDialog batch={batch} onClose={onClose} />
    case 'resume':
      return <ResumeDialog batch={batch} onClose={onClose} />
    case 'cancel':
      return <CancelDialog batch={batch} onClose={onClose} />
    case 'priority':
      return <PriorityDialog batch={batch} onClose={onClose} />
    case 'retry':
      return <RetryDialog batch={batch} cause={asked.cause} onClose={onClose} />
  }
}

function PauseDialog({ batch, onClose }: DialogProps) {
  const words = useMessages(batchMessages)
  const act = useAct('POST /api/v1/batches/{id}/pause', () => words.paused)
  const confirm = () => void act.run({ params: { id: batch.id } }).then(onClose)
  return (
    <Confirm title={words.pause} action={words.pause} busy={act.busy} onConfirm={confirm} onClose={onClose}>
      {words.pauseWhat(batch.running, batch.waiting)}
    </Confirm>
  )
}

function ResumeDialog({ batch, onClose }: DialogProps) {
  const words = useMessages(batchMessages)
  const act = useAct('POST /api/v1/batches/{id}/resume', ({ resumed }) => words.resumed(resumed))
  const confirm = () => void act.run({ params: { id: batch.id } }).then(onClose)
  return (
    <Confirm title={words.resume} action={words.resume} busy={act.busy} onConfirm={confirm} onClose={onClose}>
      {words.resumeWhat(unfinishedOf(batch))}
    </Confirm>
  )
}

function CancelDialog({ batch, onClose }: DialogProps) {
  const words = useMessages(batchMessages)
  const act = useAct('POST /api/v1/batches/{id}/cancel', () => words.cancelled)
  const confirm = () => void act.run({ params: { id: batch.id } }).then(onClose)
  return (
    <Confirm title={words.cancel} action={words.cancel} danger busy={act.busy} onConfirm={confirm} onClose={onClose}>
      {words.cancelWhat(unfinishedOf(batch), batch.running)}
    </Confirm>
  )
}

function RetryDialog({ batch, cause, onClose }: DialogProps & { cause: (Asked & { do: 'retry' })['cause'] }) {
  const words = useMessages(batchMessages)
  const act = useAct('POST /api/v1/batches/{id}/retry-failed', ({ retried, conflicts }) =>
    words.retried(retried, conflicts),
  )
  const body = cause === undefined ? {} : { cause: cause.id }
  const confirm = () => void act.run({ params: { id: batch.id }, body }).then(onClose)
  const name = cause === undefined ? words.retryFailed : words.retryThese
  return (
    <Confirm title={name} action={name} busy={act.busy} onConfirm={confirm} onClose={onClose}>
      {cause?.more ? words.retryMoreThan(cause.count) : words.retryWhat(cause?.count ?? batch.failed)}
    </Confirm>
  )
}

function PriorityDialog({ batch, onClose }: DialogProps) {
  const words = useMessages(batchMessages)
  const [priority, setPriority] = useState(batch.priority)
  const act = useAct('POST /api/v1/batches/{id}/priority', ({ moved }) => words.prioritySet(moved))
  const confirm = () => void act.run({ params: { id: batch.id }, body: { priority } }).then(onClose)
  return (
    <Confirm title={words.setPriority} action={words.setPriority} busy={act.busy} onConfirm={confirm} onClose={onClose}>
      <div class="flex flex-col gap-3">
        <p>{words.priorityWhat(batch.waiting)}</p>
        <Input
          label={words.priorityField}
          type="number"
          min={0}
          max={9}
          value={priority}
          onInput={event => setPriority(Math.min(9, Math.max(0, Math.trunc(Number(event.currentTarget.value)))))}
        />
      </div>
    </Confirm>
  )
}
