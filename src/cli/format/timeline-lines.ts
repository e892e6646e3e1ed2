/** Formats the history of a job for a terminal of 80 columns: instant, attempt, event. */

import type { JobDetail } from '../../index.ts'
import { type Moment, timelineOf } from '../../jobs/model/timeline.ts'
import type { CliMessages } from '../messages/index.ts'
import type { Output } from '../output.ts'
import { local } from './relative-time.ts'
import { brief, table } from './text-table.ts'

type Saved = Extract<Moment, { type: 'saved' }>

/** The rest of 80 columns beside the instant and the attempt. */
const longest = 50

export function timelineLines(job: JobDetail, { word }: Output): string[] {
  const rows = gathered(timelineOf(job)).map(({ moment, count }) => [
    local(moment.at),
    moment.attempt === null ? '' : `#${moment.attempt}`,
    brief(sentence(moment, count, word), longest),
  ])
  return table(['', '', ''], rows)
    .slice(1)
    .map(line => `  ${line}`)
}

/** Joins consecutive saved elements of the same list and attempt into a single line. */
function gathered(moments: readonly Moment[]): { moment: Moment; count: number }[] {
  const lines: { moment: Moment; count: number }[] = []
  for (const moment of moments) {
    const last = lines.at(-1)
    const isNext = last !== undefined && listOf(moment) !== undefined && listOf(moment) === listOf(last.moment)
    if (isNext && moment.attempt === last.moment.attempt) {
      const bytes = (last.moment as Saved).bytes + (moment as Saved).bytes
      lines[lines.length - 1] = { moment: { ...(moment as Saved), bytes }, count: last.count + 1 }
    } else lines.push({ moment, count: 1 })
  }
  return lines
}

/** `pages` of the step `pages[17]`. */
function listOf(moment: Moment): string | undefined {
  if (moment.type !== 'saved' || !moment.step.endsWith(']')) return undefined
  const at = moment.step.lastIndexOf('[')
  return at < 0 ? undefined : moment.step.slice(0, at)
}

function sentence(moment: Moment, count: number, { jobs: { happened } }: CliMessages): string {
  switch (moment.type) {
    case 'saved':
      return count === 1
        ? happened.saved(moment.step, size(moment.bytes))
        : happened.savedMany(listOf(moment)!, count, size(moment.bytes))
    case 'slept':
      return happened.slept(moment.step, local(moment.until))
    case 'failed':
      if (moment.failureType === 'orphan') return happened.orphan
      return happened.failed(
        happened.how[moment.failureType as keyof typeof happened.how] ?? moment.failureType,
        moment.message,
      )
    case 'gave up':
    case 'skipped':
      return happened.ended(happened[moment.type], moment.message)
    case 'action':
      return happened.action(moment.action)
    case 'warned':
      return moment.warning === 'unused_steps' ? happened.unused(names(moment.facts.steps)) : moment.warning
    default:
      return happened[moment.type]
  }
}

const names = (steps: unknown) => (Array.isArray(steps) ? steps.join(', ') : '')

const size = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
