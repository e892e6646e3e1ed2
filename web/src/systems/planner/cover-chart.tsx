/** Demand against cover as bars: for each day and shift, the people needed as an outline and the people assigned as its filling. */
import { Card } from '../../components/card.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { plannerMessages } from './messages.ts'
import type { Schedule } from './results.ts'

type Cover = NonNullable<Schedule['cover']>[number]

export function CoverChart({ cover }: { cover: readonly Cover[] }) {
  const words = useMessages(plannerMessages)
  const format = useFormat()
  const shown = cover.filter(({ skill }) => skill === null)
  if (shown.length === 0) return null
  const days = [...new Set(shown.map(({ date }) => date))].sort()
  const most = Math.max(1, ...shown.flatMap(({ needed, assigned }) => [needed, assigned]))
  const weekday = new Intl.DateTimeFormat(format.language, { weekday: 'short', day: 'numeric' })
  const short = shown.filter(({ needed, assigned }) => assigned < needed).length
  return (
    <Card title={words.cover} hint={words.coverHint}>
      <div
        class="flex gap-2 overflow-x-auto"
        tabIndex={0}
        role="img"
        aria-label={words.coverLabel(shown.length, short)}
      >
        <Axis most={most} />
        {days.map(day => (
          <div key={day} class="flex min-w-16 flex-1 flex-col">
            <div class="relative flex h-32 items-end justify-center gap-1 border-b border-line-strong">
              {shown
                .filter(({ date }) => date === day)
                .map(each => (
                  <Bar key={`${each.shift} ${each.hour}`} cover={each} most={most} />
                ))}
            </div>
            <span class="pt-1 text-center text-xs whitespace-nowrap text-muted">
              {weekday.format(new Date(`${day}T12:00:00`))}
            </span>
          </div>
        ))}
      </div>
      <p aria-hidden="true" class="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted">
        <Mark look="border-2 border-line-strong" text={words.needed} />
        <Mark look="bg-good-fill" text={words.assigned} />
        <Mark look="border-2 border-dashed border-bad-fill bg-bad-soft" text={words.short} />
      </p>
    </Card>
  )
}

/** The numbers of people beside the bars: none, half and most. */
function Axis({ most }: { most: number }) {
  const format = useFormat()
  const marks = most === 1 ? [1, 0] : [most, ...(most % 2 === 0 ? [most / 2] : []), 0]
  return (
    <div
      aria-hidden="true"
      class="flex h-32 shrink-0 flex-col justify-between text-right text-xs leading-none text-faint"
    >
      {marks.map(mark => (
        <span key={mark}>{format.number(mark)}</span>
      ))}
    </div>
  )
}

function Bar({ cover: { shift, hour, needed, assigned }, most }: { cover: Cover; most: number }) {
  const words = useMessages(plannerMessages)
  const isShort = assigned < needed
  const height = (people: number) => ({ height: `${(people / most) * 100}%` })
  return (
    <span
      title={words.coverText(shift ?? `${hour} h`, assigned, needed)}
      class="relative flex h-full w-full max-w-5 items-end"
    >
      <span class="absolute inset-x-0 bottom-0 rounded-t-sm bg-good-fill" style={height(Math.min(assigned, most))} />
      <span
        class={classes(
          'absolute inset-x-0 rounded-t-sm border-2 border-b-0',
          isShort ? 'border-dashed border-bad-fill bg-bad-soft' : 'border-line-strong',
        )}
        style={
          isShort
            ? { bottom: `${(assigned / most) * 100}%`, ...height(needed - assigned) }
            : { bottom: '0', ...height(needed) }
        }
      />
    </span>
  )
}

function Mark({ look, text }: { look: string; text: string }) {
  return (
    <span class="flex items-center gap-1.5">
      <span class={classes('size-2.5 rounded-sm', look)} />
      {text}
    </span>
  )
}
