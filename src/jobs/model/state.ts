/**
 * Defines the states of a job and all allowed transitions. docs/state-machine.md is printed from `transitions`, and a test runs
 * every transition in every state on a real database and expects exactly this table.
 */

export const states = ['waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled'] as const
/** The state of a job. */
export type JobState = (typeof states)[number]

export const finalStates = ['succeeded', 'failed', 'skipped', 'cancelled'] as const satisfies readonly JobState[]
/** A state that a job leaves only by a retry or a rerun. */
export type FinalJobState = (typeof finalStates)[number]

export const isFinal = (state: JobState): state is FinalJobState => (finalStates as readonly JobState[]).includes(state)

export interface Transition {
  name: string
  from: readonly JobState[]
  to: JobState
  by: 'worker' | 'watchdog' | 'supervisor' | 'person'
  when: string
}

export const transitions: readonly Transition[] = [
  {
    name: 'claim',
    from: ['waiting'],
    to: 'running',
    by: 'worker',
    when: 'the run_at of the job has come and a slot is free',
  },
  { name: 'succeed', from: ['running'], to: 'succeeded', by: 'worker', when: 'the handler returned' },
  { name: 'skip', from: ['running'], to: 'skipped', by: 'worker', when: 'the handler returned skip(reason)' },
  {
    name: 'back off',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the attempt failed and attempts are left; the job waits for its backoff',
  },
  {
    name: 'snooze',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the handler returned snooze(duration); the attempt is not counted',
  },
  {
    name: 'defer',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the provider waits or has stopped, no child is free, or the job paused its batch; neither the attempt nor the start is counted',
  },
  {
    name: 'fail',
    from: ['running'],
    to: 'failed',
    by: 'worker',
    when: 'the attempt failed and no attempts are left, or the handler threw doNotRetry',
  },
  {
    name: 'release unstarted',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the job was claimed and has not started: no slot within a second, a shutdown, or a lost answer; the attempt is not counted',
  },
  {
    name: 'release',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the worker shuts down; the attempt is not counted',
  },
  {
    name: 'recover',
    from: ['running'],
    to: 'waiting',
    by: 'watchdog',
    when: 'the worker died; the attempt is not counted',
  },
  {
    name: 'stall orphan',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: "the worker died and the kind has onOrphan: 'stall'",
  },
  {
    name: 'fail orphan',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: "the worker died and the kind has onOrphan: 'fail'",
  },
  {
    name: 'stall after restarts',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: 'the worker died ten times in a row and the job made no progress',
  },
  {
    name: 'recover after restart',
    from: ['running'],
    to: 'waiting',
    by: 'supervisor',
    when: 'the process ended, and another cause or no known cause ended the process; the attempt is not counted',
  },
  {
    name: 'count crash',
    from: ['running'],
    to: 'waiting',
    by: 'supervisor',
    when: 'the job crashed its process and attempts are left; the job waits for its backoff',
  },
  {
    name: 'poison',
    from: ['running'],
    to: 'failed',
    by: 'supervisor',
    when: 'the job crashed its process for the maxCrashes-th time, or no attempts are left',
  },
  {
    name: 'time out',
    from: ['running'],
    to: 'waiting',
    by: 'watchdog',
    when: 'the worker had not ended the attempt one minute after its deadline; a failure is counted, and the job waits for its backoff',
  },
  {
    name: 'time out for good',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: 'the same, and no attempts are left',
  },
  {
    name: 'retry on stall',
    from: ['running'],
    to: 'waiting',
    by: 'watchdog',
    when: "no progress for stallAfter, and the kind has onStall: 'retry'; the attempt is not counted",
  },
  {
    name: 'stall',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: "no progress for stallAfter, and the kind has onStall: 'stall'",
  },
  {
    name: 'fail on stall',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: "no progress for stallAfter, and the kind has onStall: 'fail'",
  },
  {
    name: 'expire',
    from: ['waiting', 'running', 'stalled'],
    to: 'failed',
    by: 'watchdog',
    when: 'the job is older than maxAge; or the job waits, ready, for longer than maxWait (only from waiting)',
  },
  {
    name: 'resume',
    from: ['stalled'],
    to: 'waiting',
    by: 'person',
    when: 'the action resume; the job is ready at once',
  },
  {
    name: 'cancel',
    from: ['waiting', 'running', 'stalled', 'cancelled'],
    to: 'cancelled',
    by: 'person',
    when: 'the action cancel; a running attempt loses its lease at once',
  },
  {
    name: 'retry',
    from: ['failed', 'skipped', 'cancelled'],
    to: 'waiting',
    by: 'person',
    when: 'the action retry; the job continues after its last checkpoint with maxAttempts new attempts; the attempt number continues',
  },
  {
    name: 'rerun',
    from: ['succeeded', 'failed', 'skipped', 'cancelled'],
    to: 'waiting',
    by: 'person',
    when: 'the action rerun (jobs retry --from-scratch): the same, but the checkpoints are deleted and every step runs again',
  },
  {
    name: 'skip by hand',
    from: ['waiting', 'running', 'stalled', 'failed', 'skipped'],
    to: 'skipped',
    by: 'person',
    when: 'the action skip; a running attempt loses its lease at once',
  },
  {
    name: 'fail by hand',
    from: ['waiting', 'running', 'stalled', 'failed'],
    to: 'failed',
    by: 'person',
    when: 'an application fails the job by a rule of its own; a running attempt loses its lease at once',
  },
]

export const transitionsFrom = (state: JobState): readonly Transition[] =>
  transitions.filter(way => way.from.includes(state))
