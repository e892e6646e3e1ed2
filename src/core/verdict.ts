/**
 * What is the matter with a job, a worker, a lane of a queue or a batch: one pure function over facts, which says the
 * verdict and what follows from it. Watchdog and janitor gather the facts and do what it says. Where one statement must
 * judge and write at once (a dead worker, what is overdue) it holds the same rule in SQL, and a test compares the two.
 *
 * Facts are ages by the database's clock, in milliseconds; no clock of ours is in them.
 *
 * Invariant: what nobody could see, and time in which a job could not move for no fault of its own, counts against nobody.
 * So a clock runs from the latest of: the start, the last sign, when looks began to follow each other, when its worker's
 * loop came free.
 */
import type { BatchPolicy } from './batch.ts'
import type { Duration } from './duration.ts'
import { minutes, seconds } from './duration.ts'
import { type Action, beatEvery, type Policy } from './policy.ts'

/** How long after its timeout the watchdog ends an attempt that its own worker has not ended. */
export const timeoutGrace = minutes(1)
/** Ready for so long without anybody who takes it: starved. */
export const starvedAfter = seconds(30)
/** A live worker beats within two beats of the database's return: more looks than a watch of that long has. */
export const silentLooks = 6

export interface JobFacts {
  of: 'job'
  state: 'waiting' | 'running' | 'stalled'
  /** Since it was enqueued; of one that has not begun, since it might have. */
  ageMs: number
  /** Of a running one; the rest is 0 for others. */
  runningMs: number
  /** Since it last showed that it moves on: its start, a step, a word of progress. */
  quietMs: number
  /** Since its kind was last swept; 0: at this look. Who stands still is ended as of then. */
  sweptMs: number
  /** Its worker lives. */
  held: boolean
  /** Whose code keeps its worker's main loop from going round. */
  blocked: 'no' | 'by it' | 'by another'
  /** For how long it has; null: it goes round. */
  blockedMs: number | null
  /** Since that loop last came free; null: it always was. */
  freeMs: number | null
  /** Since when looks have followed each other without a gap. */
  watchedMs: number
}

export interface WorkerFacts {
  of: 'worker'
  beatMs: number
  /** null: nobody suspects it. */
  suspectedMs: number | null
  /** Looks in a row at which it was silent, this one included. */
  looks: number
  /** This look follows the one before without a gap. */
  watched: boolean
  /** The least orphanAfter of what it runs. */
  orphanAfter: Duration
  /** Since when its main loop stands still; null: it does not. */
  blockedMs: number | null
}

/** Jobs of a queue, kind and version that are ready. */
export interface LaneFacts {
  of: 'lane'
  /** Since the oldest of them might have begun. */
  readyMs: number
  /** A live worker's code runs them. */
  taken: boolean
  /** Its queue is paused. */
  paused: boolean
  watchedMs: number
}

export interface BatchFacts {
  of: 'batch'
  running: number
  stalled: number
  /** Jobs that are not final. */
  left: number
  /** A job of it may begin now. */
  ready: boolean
  /** A live worker has a slot for it. */
  room: boolean
  /** There is a live worker at all. */
  anybody: boolean
  /** Since an attempt of it ended; since it was made, when none has. */
  quietMs: number
  /** Since its clock has run; null: it stood still. */
  ranMs: number | null
  watchedMs: number
}

export type Judgement =
  | { verdict: 'orphan'; action: Action }
  | { verdict: 'suspect'; action: 'watch' }
  | { verdict: 'timeout'; action: 'count' }
  | { verdict: 'stalled'; action: Action }
  /** Of a job: somebody else keeps it from going on, and its worker is as good as gone. */
  | { verdict: 'hung'; action: Action }
  | { verdict: 'overdue'; action: 'fail' }
  | { verdict: 'hung' | 'slow' | 'starved'; action: 'report' }
  /** Of a batch: its clock. */
  | { verdict: 'at work'; action: 'run' | 'stand' }
  | { verdict: 'no worker' | 'no progress'; action: Action }

type JobPolicy = Pick<Policy, 'timeout' | 'stallAfter' | 'expect' | 'maxAge' | 'onOrphan' | 'onStall'>
type StallPolicy = Pick<BatchPolicy, 'stallAfter' | 'onStall'>

export function judge(facts: JobFacts, policy: JobPolicy): Judgement | null
export function judge(facts: BatchFacts, policy: StallPolicy): Judgement
export function judge(facts: WorkerFacts | LaneFacts): Judgement | null
export function judge(
  facts: JobFacts | WorkerFacts | LaneFacts | BatchFacts,
  policy?: JobPolicy | StallPolicy,
): Judgement | null {
  switch (facts.of) {
    case 'job':
      return judgeJob(facts, policy as JobPolicy)
    case 'worker':
      return judgeWorker(facts)
    case 'lane':
      return judgeLane(facts)
    case 'batch':
      return judgeBatch(facts, policy as StallPolicy)
  }
}

/** The gravest first: what is over for good, whose worker is gone, out of time, without progress, only slow. */
function judgeJob(facts: JobFacts, policy: JobPolicy): Judgement | null {
  const { state, runningMs, quietMs, watchedMs, blocked } = facts
  if (reached(facts.ageMs, policy.maxAge)) return { verdict: 'overdue', action: 'fail' }
  if (state !== 'running') return null
  if (!facts.held) return { verdict: 'orphan', action: policy.onOrphan }
  const sinceMs = Math.min(runningMs, watchedMs, facts.freeMs ?? Number.POSITIVE_INFINITY)
  if (sinceMs >= policy.timeout + timeoutGrace && blocked !== 'by another')
    return { verdict: 'timeout', action: 'count' }
  // Its time stands still, and nobody else can have it: for as long as it may take, and no longer.
  if (blocked === 'by another' && Math.min(sinceMs, facts.blockedMs ?? 0) >= policy.timeout + timeoutGrace)
    return { verdict: 'hung', action: policy.onOrphan }
  if (blocked === 'no' && reached(Math.min(sinceMs, quietMs) - facts.sweptMs, policy.stallAfter))
    return { verdict: 'stalled', action: policy.onStall }
  if (reached(runningMs, policy.expect)) return { verdict: 'slow', action: 'report' }
  return null
}

const reached = (ageMs: number, limit: Duration | null): boolean => limit !== null && ageMs >= limit

/**
 * Two steps (docs/adr/0007-dead-workers.md): silent for half of orphanAfter it is suspected, for all of it and two beats after
 * the suspicion it is dead; where the database comes and goes, looks are counted in place of seconds.
 */
function judgeWorker(facts: WorkerFacts): Judgement | null {
  const { beatMs, suspectedMs, looks, watched, orphanAfter } = facts
  if (beatMs > orphanAfter / 2) {
    const heardLongEnough = watched && suspectedMs !== null && suspectedMs >= 2 * beatEvery
    if (beatMs > orphanAfter && (heardLongEnough || (suspectedMs !== null && looks >= silentLooks)))
      return { verdict: 'orphan', action: 'retry' }
    return { verdict: 'suspect', action: 'watch' }
  }
  return facts.blockedMs === null ? null : { verdict: 'hung', action: 'report' }
}

function judgeLane({ readyMs, taken, paused, watchedMs }: LaneFacts): Judgement | null {
  if (taken || paused || Math.min(readyMs, watchedMs) < starvedAfter) return null
  return { verdict: 'starved', action: 'report' }
}

/**
 * Its clock runs while something of it runs, or could: it is ready and somebody has room for it, or nobody is there at all, or
 * all that is left waits for a person. Waiting for a run_at, or behind others, is no standing still.
 */
function judgeBatch(facts: BatchFacts, { stallAfter, onStall }: StallPolicy): Judgement {
  const { running, stalled, left, ready, room, anybody } = facts
  const waitsForAPerson = stalled > 0 && stalled === left
  const runs = running > 0 || (ready && (room || !anybody)) || waitsForAPerson
  if (stallAfter === null || !runs) return { verdict: 'at work', action: 'stand' }
  // Until now it stood still: it begins at this look.
  if (facts.ranMs === null || Math.min(facts.ranMs, facts.quietMs, facts.watchedMs) < stallAfter)
    return { verdict: 'at work', action: 'run' }
  return { verdict: anybody ? 'no progress' : 'no worker', action: onStall }
}
