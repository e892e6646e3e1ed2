/**
 * Bars of the timeline of a job: time in the queue, attempts with their steps and sleeps, waits in between, the wait for a provider. The start of an
 * attempt that was released is not kept; such an attempt gets the earliest instant that is known of it, and says so.
 */
import type { JobDetail } from './job-model.ts'

type BarKind = 'queue' | 'attempt' | 'step' | 'sleep' | 'wait' | 'provider'

export interface Bar {
  kind: BarKind
  from: number
  to: number
  /** The end is open: the bar grows with the time. */
  open: boolean
  /** The start is not kept. */
  unknownStart: boolean
  attempt: number | null
  /** Of a step or a sleep: its name; of a wait for a provider: the name of the provider. */
  step: string | null
  /** Of an attempt: succeeded, error, timeout, crash … */
  outcome: string | null
}

export interface Lane {
  id: string
  bars: Bar[]
}

const time = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant))

const bar = (kind: BarKind, from: number, to: number, more: Partial<Bar> = {}): Bar => ({
  kind,
  from,
  to: Math.max(from, to),
  open: false,
  unknownStart: false,
  attempt: null,
  step: null,
  outcome: null,
  ...more,
})

const mostAttempts = 50

/** `provider`: the provider that the explanation of the job names, which waits or has stopped. */
export function lanesOf(job: JobDetail, now: number, provider: string | null = null): Lane[] {
  const created = Date.parse(job.created_at)
  const lanes: Lane[] = []
  let before = created
  const attempts = job.attempts.slice(-mostAttempts)
  const steps = job.checkpoints.map(({ at, ...each }) => ({ ...each, at: Date.parse(at) })).sort((a, b) => a.at - b.at)
  for (const { attempt, outcome, started_at, ended_at } of attempts) {
    const own = steps.filter(step => step.attempt === attempt)
    const isRunning = outcome === 'running'
    const known = time(started_at)
    const end = time(ended_at) ?? (isRunning ? now : (own.at(-1)?.at ?? known))
    // Released or recovered before anything was kept of it.
    if (end === null) continue
    if (known !== null && known > before)
      lanes.push({ id: `wait-${attempt}`, bars: [bar(attempt === 1 ? 'queue' : 'wait', before, known, { attempt })] })
    const from = known ?? before
    const whole = bar('attempt', from, end, { attempt, outcome, open: isRunning, unknownStart: known === null })
    lanes.push({ id: `attempt-${attempt}`, bars: [whole] })
    lanes.push(...stepLanes(attempt, from, known === null, own))
    before = Math.max(before, end, ...own.map(step => time(step.sleep_until) ?? 0))
  }
  if (job.state === 'waiting') lanes.push(waitLane(job, before, now, provider))
  return lanes
}

/** A step ends when its result is saved; it began after the step before. */
function stepLanes(attempt: number, start: number, unknownStart: boolean, steps: readonly Saved[]): Lane[] {
  let before = start
  return steps.map(({ name, at, sleep_until }, index) => {
    const until = time(sleep_until)
    const own =
      until === null
        ? bar('step', before, at, { attempt, step: name, unknownStart: unknownStart && index === 0 })
        : bar('sleep', at, until, { attempt, step: name })
    before = Math.max(before, own.to)
    return { id: `step-${attempt}-${name}`, bars: [own] }
  })
}

type Saved = Omit<JobDetail['checkpoints'][number], 'at'> & { at: number }

function waitLane(job: JobDetail, before: number, now: number, provider: string | null): Lane {
  const due = Math.max(Date.parse(job.run_at), before)
  const isDue = due <= now
  const last = job.attempts.at(-1)
  const span = [before, isDue ? now : due] as const
  // An attempt that met a waiting provider is released without an outcome.
  const isForProvider = provider !== null && (isDue || last?.outcome === null)
  if (isForProvider) return { id: 'due', bars: [bar('provider', ...span, { open: isDue, step: provider })] }
  return { id: 'due', bars: [bar(last === undefined && isDue ? 'queue' : 'wait', ...span, { open: isDue })] }
}

/** The first and the last instant of all bars; at least a second apart. */
export function spanOf(lanes: readonly Lane[], job: JobDetail, now: number): [number, number] {
  const bars = lanes.flatMap(lane => lane.bars)
  const from = Math.min(Date.parse(job.created_at), ...bars.map(each => each.from))
  const last = Math.max(
    ...bars.map(each => each.to),
    time(job.finished_at) ?? (bars.some(each => each.open) ? now : from),
  )
  return [from, Math.max(last, from + 1000)]
}
