/** The button of the action that the server names for a problem. */
import { Play, RotateCw } from 'lucide-react'
import { useState } from 'react'
import type { Answer } from '../api/client.ts'
import { queryClient } from '../api/query.ts'
import { useCan } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { Confirm } from '../components/dialog.tsx'
import { useToast } from '../components/toast.tsx'
import { useMessages } from '../i18n/messages.ts'
import { countJobs, runBulk } from '../pages/jobs/bulk-actions.ts'
import { problemMessages } from './problem-messages.ts'
import { useAct } from './use-act.ts'

export type Problem = Answer<'GET /api/v1/stats/health'>['problems'][number]

const nameOf = ({ subject }: Problem) => subject.slice(subject.indexOf(':') + 1)
const lookOf = (small: boolean) => (small ? ({ size: 'sm' } as const) : ({ look: 'primary' } as const))

interface HelpProps {
  problem: Problem
  small?: boolean
}

/** Nothing if no single action helps, or if the role may not act. */
export function ProblemHelp({ problem, small = false }: HelpProps) {
  const may = useCan('operator')
  if (!may) return null
  switch (problem.action) {
    case 'queue.resume':
      return <ResumeQueue problem={problem} small={small} />
    case 'batch.resume':
      return <ResumeBatch problem={problem} small={small} />
    case 'provider.clear':
      return <ClearProvider problem={problem} small={small} />
    case 'jobs.resume':
      return <ResumeJobs problem={problem} small={small} />
    default:
      return null
  }
}

function ResumeQueue({ problem, small = false }: HelpProps) {
  const words = useMessages(problemMessages)
  const name = nameOf(problem)
  const { run, busy } = useAct('POST /api/v1/queues/{name}/resume', () => words.queueResumed(name))
  return (
    <Button {...lookOf(small)} icon={Play} busy={busy} onClick={() => void run({ params: { name } })}>
      {words.resumeQueue}
    </Button>
  )
}

function ResumeBatch({ problem, small = false }: HelpProps) {
  const words = useMessages(problemMessages)
  const id = nameOf(problem)
  const { run, busy } = useAct('POST /api/v1/batches/{id}/resume', () => words.batchResumed(id))
  return (
    <Button {...lookOf(small)} icon={Play} busy={busy} onClick={() => void run({ params: { id } })}>
      {words.resumeBatch}
    </Button>
  )
}

function ClearProvider({ problem, small = false }: HelpProps) {
  const words = useMessages(problemMessages)
  const name = nameOf(problem)
  const { run, busy } = useAct('POST /api/v1/providers/{name}/clear', () => words.providerCleared(name))
  return (
    <Button {...lookOf(small)} icon={RotateCw} busy={busy} onClick={() => void run({ params: { name } })}>
      {words.clearProvider}
    </Button>
  )
}

/** All stalled jobs; the server leaves out the items of stalled batches, which have a problem of their own. */
const stalled = { state: 'stalled' }

function ResumeJobs({ small = false }: HelpProps) {
  const words = useMessages(problemMessages)
  const toast = useToast()
  const [question, setQuestion] = useState<{ count?: { changed: number; done: boolean } }>()
  const [busy, setBusy] = useState(false)
  const report = (error: unknown) => toast.show('bad', error instanceof Error ? error.message : String(error))
  const ask = async () => {
    setQuestion({})
    try {
      const count = await countJobs('resume', stalled)
      setQuestion(now => now && { count })
    } catch (error) {
      setQuestion(undefined)
      report(error)
    }
  }
  const run = async () => {
    setBusy(true)
    try {
      toast.show('good', words.jobsResumed(await runBulk('resume', stalled)))
      setQuestion(undefined)
    } catch (error) {
      report(error)
    } finally {
      setBusy(false)
      void queryClient.invalidateQueries()
    }
  }
  const count = question?.count
  return (
    <>
      <Button {...lookOf(small)} icon={Play} onClick={() => void ask()}>
        {words.resumeJobs}
      </Button>
      {question !== undefined && (
        <Confirm
          title={words.resumeJobsTitle}
          action={words.resumeJobs}
          busy={busy || count === undefined}
          onConfirm={() => void run()}
          onClose={() => setQuestion(undefined)}
        >
          <span role="status">
            {count === undefined ? words.counting : words.resumeJobsEffect(count.changed, count.done)}
          </span>
        </Confirm>
      )}
    </>
  )
}
