/** The timeline of a job in words. */
import { actionMessages } from '../../i18n/actions.ts'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { JobDetail } from './job-model.ts'
import { type JobWords, jobMessages } from './messages.ts'
import { type TimelineWords, timelineMessages } from './timeline-messages.ts'

type Moment = JobDetail['timeline'][number] & Readonly<Record<string, unknown>>

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

function wordOf({ type }: Moment, words: JobWords): string {
  return type in words.moment ? words.moment[type as keyof JobWords['moment']] : type
}

interface Dictionaries {
  words: JobWords
  parts: TimelineWords
  /** What each action did. */
  did: Readonly<Record<string, string>>
}

const wordIn = (words: Readonly<Record<string, string>>, name: unknown): string => words[text(name)] ?? text(name)

/** What the kind of moment tells besides its time. */
function detailOf(moment: Moment, { words, parts, did }: Dictionaries, time: (instant: string) => string): string {
  switch (moment.type) {
    case 'saved':
      return text(moment.step)
    case 'slept':
      return `${text(moment.step)} ${words.until(time(text(moment.until)))}`
    case 'failed':
      return [wordIn(parts.failureType, moment.failure_type), text(moment.message)].filter(Boolean).join(': ')
    case 'action':
      return wordIn(did, moment.action)
    case 'warned':
      return text(moment.warning)
    default:
      return text(moment.message)
  }
}

export function JobMoments({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  const parts = useMessages(timelineMessages)
  const did = useMessages(actionMessages)
  const format = useFormat()
  return (
    <ol class="flex flex-col">
      {(job.timeline as Moment[]).map((moment, index) => (
        <li key={index} class="flex flex-wrap gap-x-3 border-b py-1.5 last:border-b-0">
          <time dateTime={moment.at} title={format.dateTime(moment.at)} class="w-20 shrink-0 text-muted">
            {format.time(moment.at)}
          </time>
          <span class="w-36 shrink-0 font-medium">{wordOf(moment, words)}</span>
          <span class="min-w-0 flex-1 basis-40">{detailOf(moment, { words, parts, did }, format.time)}</span>
          {moment.attempt !== null && <span class="text-sm text-faint">{words.attemptOf(moment.attempt)}</span>}
        </li>
      ))}
    </ol>
  )
}
