/** A problem of this moment in the words of the server: since when, the button that helps, and the link to its page. */
import { CircleX, Info, TriangleAlert } from 'lucide-react'
import { Link } from 'wouter'
import { RelativeTime } from '../components/relative-time.tsx'
import { Sentence } from '../components/sentence.tsx'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { type Problem, ProblemHelp } from './problem-help.tsx'
import { problemMessages } from './problem-messages.ts'
import { subjectPath } from './subject-path.ts'

export type { Problem } from './problem-help.tsx'

const marks = {
  critical: { kind: 'bad', icon: CircleX, ink: 'text-bad' },
  warning: { kind: 'warn', icon: TriangleAlert, ink: 'text-warn' },
  info: { kind: 'info', icon: Info, ink: 'text-busy' },
} as const

export const keyOfProblem = ({ event, subject }: Problem) => `${event} ${subject}`

export function ProblemSentence({ problem }: { problem: Problem }) {
  const words = useMessages(problemMessages)
  const path = subjectPath(problem.subject)
  return (
    <Sentence
      kind={marks[problem.severity].kind}
      hint={<RelativeTime at={problem.since} />}
      action={
        <>
          <ProblemHelp problem={problem} />
          {path !== undefined && (
            <Link
              href={path}
              class="inline-flex h-8 items-center rounded-md border border-line-strong bg-surface px-3 font-medium hover:bg-hover"
            >
              {words.open}
            </Link>
          )}
        </>
      }
    >
      {problem.sentence}
    </Sentence>
  )
}

/** A problem beside a worse one: one line with the same button. */
export function ProblemRow({ problem }: { problem: Problem }) {
  const words = useMessages(problemMessages)
  const path = subjectPath(problem.subject)
  const { icon: Icon, ink } = marks[problem.severity]
  return (
    <li class="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5 pr-3 pl-4">
      <Icon size={16} className={classes('shrink-0', ink)} aria-hidden="true" />
      <span class="min-w-40 flex-1">
        {problem.sentence}{' '}
        <span class="text-muted">
          <RelativeTime at={problem.since} />
        </span>
      </span>
      <span class="flex items-center gap-2">
        <ProblemHelp problem={problem} small />
        {path !== undefined && (
          <Link href={path} class="inline-flex h-7 items-center px-2 text-sm font-medium text-accent hover:underline">
            {words.open}
          </Link>
        )}
      </span>
    </li>
  )
}
