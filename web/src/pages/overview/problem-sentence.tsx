/** The words, the link and the button of each problem. */
import { CircleX, Play, TriangleAlert } from 'lucide-react'
import { Link } from 'wouter'
import { useAction } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import type { Problem } from './health.ts'
import { type OverviewWords, overviewMessages } from './messages.ts'

interface Wording {
  text: string
  hint?: string | null
  path: string
}

function wordingOf(problem: Problem, words: OverviewWords): Wording {
  switch (problem.is) {
    case 'watchdog_late':
      return { text: words.watchdogLate, hint: words.watchdogHint, path: '/settings' }
    case 'no_worker':
      return { text: words.noWorker(problem.ready), hint: words.noWorkerHint, path: '/workers' }
    case 'jobs_stalled':
      return { text: words.jobsStalled(problem.count), hint: words.jobsStalledHint, path: '/jobs?state=stalled' }
    case 'batch_stalled':
      return {
        text: words.batchStalled(problem.name, problem.id),
        hint: words.batchStalledHint,
        path: `/batches/${problem.id}`,
      }
    case 'batch_paused':
      return { text: words.batchPaused(problem.name, problem.id), path: `/batches/${problem.id}` }
    case 'queue_starved':
      return {
        text: words.queueStarved(problem.queue, problem.ready),
        hint: words.queueStarvedHint,
        path: `/queues/${encodeURIComponent(problem.queue)}`,
      }
    case 'queue_paused':
      return {
        text: words.queuePaused(problem.queue, problem.ready),
        path: `/queues/${encodeURIComponent(problem.queue)}`,
      }
    case 'worker_blocked':
      return { text: words.workerBlocked(problem.host), path: '/workers' }
    case 'provider_stopped':
      return { text: words.providerStopped(problem.name), hint: problem.words, path: '/providers' }
    case 'provider_waits':
      return { text: words.providerWaits(problem.name), hint: problem.words, path: '/providers' }
  }
}

const link =
  'inline-flex h-8 items-center rounded-md border border-line-strong bg-surface px-3 font-medium hover:bg-hover'

export function ProblemSentence({ problem, hint: more }: { problem: Problem; hint?: string | undefined }) {
  const words = useMessages(overviewMessages)
  const { text, hint, path } = wordingOf(problem, words)
  return (
    <Sentence
      kind={problem.severity}
      {...(hint || more ? { hint: [hint, more].filter(Boolean).join(' · ') } : {})}
      action={
        <>
          <Help problem={problem} />
          <Link href={path} class={link}>
            {words.open}
          </Link>
        </>
      }
    >
      {text}
      {problem.since !== null && (
        <>
          {', '}
          <RelativeTime at={problem.since} />
        </>
      )}
    </Sentence>
  )
}

const marks = {
  bad: { icon: CircleX, ink: 'text-bad' },
  warn: { icon: TriangleAlert, ink: 'text-warn' },
} as const

/** A problem beside a worse one: one line with the same button. */
export function ProblemRow({ problem }: { problem: Problem }) {
  const words = useMessages(overviewMessages)
  const { text, hint, path } = wordingOf(problem, words)
  const { icon: Icon, ink } = marks[problem.severity]
  return (
    <li class="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5 pr-3 pl-4">
      <Icon size={16} className={classes('shrink-0', ink)} aria-hidden="true" />
      <span class="min-w-40 flex-1">
        <span class="font-medium">{text}</span>
        {problem.since !== null && (
          <>
            {', '}
            <RelativeTime at={problem.since} />
          </>
        )}
        {hint && <span class="text-muted"> · {hint}</span>}
      </span>
      <span class="flex items-center gap-2">
        <Help problem={problem} small />
        <Link href={path} class="inline-flex h-7 items-center px-2 text-sm font-medium text-accent hover:underline">
          {words.open}
        </Link>
      </span>
    </li>
  )
}

/** The button that helps at once, where there is one. */
function Help({ problem, small = false }: { problem: Problem; small?: boolean }) {
  const may = useCan('operator')
  if (!may) return null
  if (problem.is === 'queue_paused') return <ResumeQueue queue={problem.queue} small={small} />
  if (problem.is === 'batch_stalled' || problem.is === 'batch_paused')
    return <ResumeBatch id={problem.id} small={small} />
  return null
}

const lookOf = (small: boolean) => (small ? ({ size: 'sm' } as const) : ({ look: 'primary' } as const))

function ResumeQueue({ queue, small }: { queue: string; small: boolean }) {
  const words = useMessages(overviewMessages)
  const toast = useToast()
  const resume = useAction('POST /api/v1/queues/{name}/resume', {
    onSuccess: () => toast.show('good', words.resumed(queue)),
    onError: error => toast.show('bad', error.message),
  })
  return (
    <Button
      {...lookOf(small)}
      icon={Play}
      busy={resume.isPending}
      onClick={() => resume.mutate({ params: { name: queue } })}
    >
      {words.resumeQueue}
    </Button>
  )
}

function ResumeBatch({ id, small }: { id: string; small: boolean }) {
  const words = useMessages(overviewMessages)
  const toast = useToast()
  const resume = useAction('POST /api/v1/batches/{id}/resume', {
    onSuccess: () => toast.show('good', words.batchResumed(id)),
    onError: error => toast.show('bad', error.message),
  })
  return (
    <Button {...lookOf(small)} icon={Play} busy={resume.isPending} onClick={() => resume.mutate({ params: { id } })}>
      {words.resumeBatch}
    </Button>
  )
}
