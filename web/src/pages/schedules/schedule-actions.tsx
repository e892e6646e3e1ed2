/** The actions on a schedule: run its job now, pause with what it will do, resume. */
import { Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { type ItemOf, useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { schedulesMessages } from './messages.ts'

export type Schedule = ItemOf<'GET /api/v1/schedules'>

interface ActionProps {
  schedule: Schedule
  size?: 'sm' | 'md'
}

export function RunNow({ schedule: { name }, size = 'md' }: ActionProps) {
  const words = useMessages(schedulesMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const run = useAction('POST /api/v1/schedules/{name}/run')
  const start = () =>
    run.mutate(
      { params: { name } },
      {
        onSuccess: ({ id, created }) =>
          toast.show('good', created ? words.ran(id) : words.joined(id), {
            label: words.open,
            run: () => navigate(`/jobs/${encodeURIComponent(id)}`),
          }),
        onError: error => toast.show('bad', error.message),
      },
    )
  return (
    <Button size={size} icon={Play} busy={run.isPending} onClick={start} aria-label={`${words.run}: ${name}`}>
      {words.run}
    </Button>
  )
}

export function PauseSchedule({ schedule: { name, paused }, size = 'md' }: ActionProps) {
  const words = useMessages(schedulesMessages)
  const toast = useToast()
  const pause = useAction('POST /api/v1/schedules/{name}/pause')
  const resume = useAction('POST /api/v1/schedules/{name}/resume')
  const [asks, setAsks] = useState(false)
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
  if (paused)
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
          {words.pauseText}
        </Confirm>
      )}
    </>
  )
}
