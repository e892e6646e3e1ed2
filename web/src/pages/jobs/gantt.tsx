/** The timeline of a job as a Gantt chart that grows while the job runs. The list of moments says the same in words. */
import { Card } from '../../components/card.tsx'
import { type Format, useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { classes } from '../../lib/classes.ts'
import { useNow } from '../../lib/now.ts'
import { type Bar, type Lane, lanesOf, spanOf } from './gantt-model.ts'
import { isFinal, type JobDetail } from './job-model.ts'
import { type JobWords, jobMessages } from './messages.ts'
import { type TimelineWords, timelineMessages } from './timeline-messages.ts'

const ticks = 4

/** Shape and pattern differ as well as colour: solid, striped, outlined, dotted. */
const looks: Readonly<Record<Bar['kind'], string>> = {
  queue: 'h-2 rounded-sm border border-dashed border-idle-fill',
  wait: 'h-2 rounded-sm border border-dashed border-idle-fill',
  provider: 'h-2.5 rounded-sm border border-dashed border-warn-fill bg-warn-soft',
  attempt: 'h-4 rounded-sm',
  step: 'h-2.5 rounded-sm bg-accent-fill',
  sleep: 'h-2.5 rounded-sm border border-warn-fill bg-warn-soft stripes text-warn-fill',
}

function attemptLook(outcome: string | null): string {
  if (outcome === 'succeeded') return 'bg-good-fill'
  if (outcome === 'running') return 'bg-busy-fill'
  if (outcome === 'stalled') return 'bg-warn-fill'
  return outcome === null || outcome === 'cancelled' || outcome === 'skipped' ? 'bg-idle-fill' : 'bg-bad-fill'
}

function outcomeInk(outcome: string | null): string {
  if (outcome === 'succeeded') return 'text-good'
  if (outcome === 'running') return 'text-busy'
  if (outcome === 'stalled') return 'text-warn'
  return outcome === null || outcome === 'cancelled' || outcome === 'skipped' ? 'text-muted' : 'text-bad'
}

function nameOf(bar: Bar, words: JobWords): string {
  switch (bar.kind) {
    case 'queue':
      return words.waitingBar
    case 'wait':
      return words.backoffBar
    case 'attempt':
      return words.attemptBar(bar.attempt ?? 0)
    case 'step':
      return words.stepBar(bar.step ?? '')
    case 'sleep':
      return words.sleepBar(bar.step ?? '')
    case 'provider':
      return words.providerBar(bar.step ?? '')
  }
}

/** The outcome of an attempt as a word, so that the bars are readable without colour. */
function outcomeWord(outcome: string | null, parts: TimelineWords, states: Readonly<Record<string, string>>): string {
  return outcome === null ? parts.released : (parts.failureType[outcome] ?? states[outcome] ?? outcome)
}

export function Gantt({ job, provider }: { job: JobDetail; provider: string | null }) {
  const words = useMessages(jobMessages)
  const parts = useMessages(timelineMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const now = useNow()
  const lanes = lanesOf(job, now, provider)
  const [from, to] = spanOf(lanes, job, now)
  const marks = Array.from({ length: ticks + 1 }, (_, index) => from + ((to - from) * index) / ticks)
  return (
    <Card title={words.timeline} hint={format.duration(to - from)}>
      <div
        role="img"
        aria-label={words.timelineLabel(lanes.length)}
        class="relative [--gantt-label:9rem] max-sm:[--gantt-label:6.5rem]"
      >
        <div aria-hidden="true" class="flex pl-(--gantt-label) text-xs text-faint">
          <div class="relative h-5 flex-1">
            {marks.map((mark, index) => (
              <span
                key={index}
                class={classes('absolute whitespace-nowrap', index > 0 && index < ticks && 'max-sm:hidden')}
                style={{
                  left: `${(index / ticks) * 100}%`,
                  transform: `translateX(${index === 0 ? '0' : index === ticks ? '-100%' : '-50%'})`,
                }}
              >
                {index === 0 ? format.time(mark) : `+${format.duration(mark - from)}`}
              </span>
            ))}
          </div>
        </div>
        <div aria-hidden="true" class="absolute inset-y-0 top-5 right-0 left-(--gantt-label)">
          {marks.map((_, index) => (
            <span
              key={index}
              class={classes('absolute inset-y-0 w-px bg-line', index > 0 && index < ticks && 'max-sm:hidden')}
              style={index === ticks ? { right: '0' } : { left: `${(index / ticks) * 100}%` }}
            />
          ))}
        </div>
        <div class="relative flex flex-col">
          {lanes.map(lane => (
            <LaneRow key={lane.id} {...{ lane, from, to, words, parts, states, format }} />
          ))}
        </div>
        {!isFinal(job.state) && now >= from && now <= to && (
          <div
            aria-hidden="true"
            class="absolute top-5 bottom-0 w-px bg-accent-fill"
            style={{ left: `calc(var(--gantt-label) + (100% - var(--gantt-label)) * ${(now - from) / (to - from)})` }}
          />
        )}
      </div>
      <Legend lanes={lanes} parts={parts} />
    </Card>
  )
}

const legendOrder = ['attempt', 'step', 'sleep', 'wait', 'provider'] as const

/** The shape of each kind of bar on the chart with its name; nothing if all bars are attempts. */
function Legend({ lanes, parts }: { lanes: readonly Lane[]; parts: TimelineWords }) {
  const kinds = new Set(lanes.flatMap(({ bars }) => bars.map(({ kind }) => (kind === 'queue' ? 'wait' : kind))))
  const shown = legendOrder.filter(kind => kinds.has(kind))
  if (shown.length < 2) return null
  return (
    <ul class="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm text-muted">
      {shown.map(kind => (
        <li key={kind} class="flex items-center gap-1.5">
          <span
            aria-hidden="true"
            class={classes('inline-block w-5', looks[kind], kind === 'attempt' && 'bg-idle-fill')}
          />
          {parts.legend[kind]}
        </li>
      ))}
    </ul>
  )
}

interface LaneRowProps {
  lane: Lane
  from: number
  to: number
  words: JobWords
  parts: TimelineWords
  states: Readonly<Record<string, string>>
  format: Format
}

/** The length of a bar is beside the bar where there is space, else inside, at its end. Percents of the width. */
const placeOf = (from: number, to: number) => (to < 68 ? 'after' : from > 32 ? 'before' : 'inside')

function labelStyle(from: number, to: number) {
  switch (placeOf(from, to)) {
    case 'after':
      return { left: `calc(max(${to}%, ${from}% + 4px) + 0.375rem)` }
    case 'before':
      return { right: `calc(${100 - from}% + 0.375rem)` }
    case 'inside':
      return { right: `calc(${100 - to}% + 0.25rem)` }
  }
}

function LaneRow({ lane, from, to, words, parts, states, format }: LaneRowProps) {
  const share = (at: number) => ((at - from) / (to - from)) * 100
  const [first] = lane.bars
  if (first === undefined) return null
  const isPart = first.kind === 'step' || first.kind === 'sleep'
  return (
    <div class="flex h-7 items-center border-t">
      <span
        class={classes(
          'w-(--gantt-label) shrink-0 truncate pr-3 text-sm',
          isPart ? 'pl-3 text-muted' : first.kind === 'attempt' ? 'font-medium' : 'text-faint',
        )}
        title={nameOf(first, words)}
      >
        {isPart ? first.step : nameOf(first, words)}
      </span>
      <span class="relative h-full min-w-0 flex-1 overflow-x-clip">
        {lane.bars.map((bar, index) => {
          const length = format.duration(bar.to - bar.from)
          const note = bar.unknownStart ? ` (${parts.startUnknown})` : ''
          const left = share(bar.from)
          const outcome = bar.kind === 'attempt' ? outcomeWord(bar.outcome, parts, states) : ''
          const shownLength = bar.unknownStart && bar.kind === 'attempt' ? parts.startUnknown : length
          return (
            <span key={index}>
              <span
                title={`${[nameOf(bar, words), outcome].filter(Boolean).join(' · ')}: ${length}${note}, ${format.time(bar.from)} – ${bar.open ? words.now : format.time(bar.to)}`}
                class={classes(
                  'absolute top-1/2 min-w-1 -translate-y-1/2',
                  looks[bar.kind],
                  bar.kind === 'attempt' && attemptLook(bar.outcome),
                  bar.unknownStart && 'stripes text-surface',
                )}
                style={{ left: `${left}%`, width: `${share(bar.to) - left}%` }}
              />
              <span
                class={classes(
                  'absolute top-1/2 -translate-y-1/2 rounded-sm text-xs leading-4 whitespace-nowrap text-muted',
                  placeOf(left, share(bar.to)) === 'inside' && 'bg-surface px-1',
                )}
                style={labelStyle(left, share(bar.to))}
              >
                {outcome !== '' && <span class={classes('font-medium', outcomeInk(bar.outcome))}>{outcome}</span>}
                <span class={classes(bar.unknownStart && outcome !== '' && 'max-sm:hidden')}>
                  {outcome !== '' && ' · '}
                  {shownLength}
                </span>
              </span>
            </span>
          )
        })}
      </span>
    </div>
  )
}
