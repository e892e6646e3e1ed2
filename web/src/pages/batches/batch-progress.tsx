/** The progress of a batch: the bar, the counts by state (each shows its items), rate, time left, last item, age of the last sign of life, cost. */
import { Card } from '../../components/card.tsx'
import { Cost } from '../../components/cost.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Stat } from '../../components/stat.tsx'
import { stateLooks } from '../../components/state-badge.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { classes } from '../../lib/classes.ts'
import { type BatchView, endedOf, type ItemState, isOpen, itemStates, progressParts } from './batch-model.ts'
import { batchMessages } from './messages.ts'

const inks = {
  good: 'text-good',
  bad: 'text-bad',
  warn: 'text-warn',
  busy: 'text-busy',
  idle: 'text-muted',
  accent: 'text-accent',
}

interface BatchProgressProps {
  batch: BatchView
  onState(state: ItemState): void
}

export function BatchProgress({ batch, onState }: BatchProgressProps) {
  const words = useMessages(batchMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const ended = endedOf(batch)
  return (
    <Card>
      <div class="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <p class="flex items-baseline gap-2">
          <span class="text-2xl font-semibold tracking-tight">
            {batch.percent === null ? '–' : format.percent(floorOf(batch.percent), 1)}
          </span>
          <span class="text-muted">{words.of(format.number(ended), format.number(batch.total))}</span>
        </p>
        <p aria-live="polite" class="text-sm text-muted">
          {batch.submitted_at === null && words.receiving(batch.items_received)}
          {batch.following && words.following}
        </p>
      </div>
      <p role="status" class="sr-only">
        {batch.percent !== null &&
          `${words.progressOf(batch.name, batch.id)}: ${format.percent(Math.floor(batch.percent / 10) * 10)}`}
      </p>
      <div class="my-3">
        <Progress
          size="md"
          label={words.progressOf(batch.name, batch.id)}
          parts={progressParts(batch, states)}
          total={batch.total}
          done={ended}
        />
      </div>
      <ul class="-mx-2 flex flex-wrap gap-1">
        {itemStates.map(state => (
          <li key={state}>
            <Count state={state} label={states[state]} count={batch[state]} onPress={() => onState(state)} />
          </li>
        ))}
      </ul>
      <div
        class={classes(
          'mt-4 grid grid-cols-2 gap-4 border-t pt-4',
          batch.cost.length === 0 ? 'sm:grid-cols-4' : 'sm:grid-cols-5',
        )}
      >
        <Stat
          label={words.rate}
          value={batch.rate === null ? '–' : words.perSecond(format.number(batch.rate, { maximumFractionDigits: 1 }))}
        />
        {isOpen(batch) ? (
          <Stat
            label={words.timeLeft}
            value={batch.eta_seconds === null ? '–' : format.duration(batch.eta_seconds * 1000)}
          />
        ) : (
          <Stat label={words.duration} value={durationOf(batch, format.duration)} />
        )}
        <Stat label={words.lastItem} value={<span title={batch.last_ref ?? ''}>{batch.last_ref ?? '–'}</span>} />
        <Stat
          label={words.heartbeat}
          value={batch.progress_at === null ? '–' : <RelativeTime at={batch.progress_at} />}
          {...(batch.resumes > 0
            ? { hint: `${words.resumes}: ${words.resumesOf(batch.resumes, batch.max_resumes)}` }
            : {})}
        />
        {batch.cost.length > 0 && <Stat label={words.cost} value={<Cost cost={batch.cost} />} />}
      </div>
    </Card>
  )
}

/** Never 100 % before the end. */
const floorOf = (percent: number) => Math.floor(percent * 10) / 10

const durationOf = ({ created_at, finished_at }: BatchView, text: (ms: number) => string): string =>
  finished_at === null ? '–' : text(Date.parse(finished_at) - Date.parse(created_at))

interface CountProps {
  state: ItemState
  label: string
  count: number
  onPress(): void
}

function Count({ state, label, count, onPress }: CountProps) {
  const format = useFormat()
  const { icon: Icon, tone } = stateLooks[state]
  return (
    <button
      type="button"
      class={classes(
        'flex h-7 items-center gap-1.5 rounded-md px-2 hover:bg-hover',
        count === 0 ? 'text-faint' : 'text-ink',
      )}
      onClick={onPress}
    >
      <Icon size={13} aria-hidden="true" className={count === 0 ? '' : inks[tone]} />
      <span class="text-sm">{label}</span>
      <span class="font-medium">{format.number(count)}</span>
    </button>
  )
}
