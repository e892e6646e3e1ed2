/** The actions on a queue: pause with what it will do, resume, cancel what waits. */
import { Ban, Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import type { Queue } from './limits-text.ts'
import { queuesMessages } from './messages.ts'

export function PauseButton({ queue, size = 'md' }: { queue: Queue; size?: 'sm' | 'md' }) {
  const words = useMessages(queuesMessages)
  const toast = useToast()
  const pause = useAction('POST /api/v1/queues/{name}/pause')
  const resume = useAction('POST /api/v1/queues/{name}/resume')
  const [asks, setAsks] = useState(false)
  const name = queue.queue
  const onError = (error: Error) => toast.show('bad', error.message)
  const runResume = () =>
    resume.mutate({ params: { name } }, { onSuccess: () => toast.show('good', words.didResume(name)), onError })
  const runPause = () =>
    pause.mutate(
      { params: { name } },
      {
        onSuccess: () => toast.show('good', words.didPause(name), { label: words.undo, run: runResume }),
        onError,
        onSettled: () => setAsks(false),
      },
    )
  if (queue.paused)
    return (
      <Button
        size={size}
        icon={Play}
        busy={resume.isPending}
        onClick={runResume}
        aria-label={`${words.resume}: ${name}`}
      >
        {words.resume}
      </Button>
    )
  return (
    <>
      <Button size={size} icon={Pause} onClick={() => setAsks(true)} aria-label={`${words.pause}: ${name}`}>
        {words.pause}
      </Button>
      {asks && (
        <Confirm
          title={words.pauseTitle(name)}
          action={words.pause}
          busy={pause.isPending}
          onConfirm={runPause}
          onClose={() => setAsks(false)}
        >
          {words.pauseText(queue.running ?? 0)}
        </Confirm>
      )}
    </>
  )
}

export function ClearButton({ queue: { queue: name, ready, scheduled } }: { queue: Queue }) {
  const words = useMessages(queuesMessages)
  const toast = useToast()
  const clear = useAction('POST /api/v1/queues/{name}/clear')
  const [asks, setAsks] = useState(false)
  // Without counts the waiting jobs are private, and only an admin cancels them.
  const waiting = (ready ?? 0) + (scheduled ?? 0)
  const run = () =>
    clear.mutate(
      { params: { name } },
      {
        onSuccess: ({ cancelled, done }) =>
          toast.show('good', `${words.cleared(cancelled)}${done ? '' : ` ${words.clearAgain}`}`),
        onError: error => toast.show('bad', error.message),
        onSettled: () => setAsks(false),
      },
    )
  return (
    <>
      <Button look="danger" icon={Ban} disabled={waiting === 0} onClick={() => setAsks(true)}>
        {words.clear}
      </Button>
      {asks && (
        <Confirm
          title={words.clearTitle(name)}
          action={words.clear}
          danger
          busy={clear.isPending}
          onConfirm={run}
          onClose={() => setAsks(false)}
        >
          {words.clearText(waiting)}
        </Confirm>
      )}
    </>
  )
}
