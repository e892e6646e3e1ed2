/**
 * Defines the states of a job and all allowed transitions. docs/state-machine.md is printed from `transitions`, and a test runs
 * every verb in every state on a real database and expects exactly this table.
 */

export const states = ['waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled'] as const
/** The state of a job. */
export type JobState = (typeof states)[number]

export const finalStates = ['succeeded', 'failed', 'skipped', 'cancelled'] as const satisfies readonly JobState[]
/** A state that a job leaves only by a retry or a rerun. */
export type FinalJobState = (typeof finalStates)[number]

export const isFinal = (state: JobState): state is FinalJobState => (finalStates as readonly JobState[]).includes(state)

export interface Transition {
  verb: string
  from: readonly JobState[]
  to: JobState
  by: 'worker' | 'watchdog' | 'supervisor' | 'person'
  when: string
}

export const transitions: readonly Transition[] = [
  { verb: 'claim', from: ['waiting'], to: 'running', by: 'worker', when: 'its run_at has come and a slot is free' },
  { verb: 'succeed', from: ['running'], to: 'succeeded', by: 'worker', when: 'the handler returned' },
  { verb: 'skip', from: ['running'], to: 'skipped', by: 'worker', when: 'the handler returned skip(reason)' },
  {
    verb: 'back off',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'it failed and has tries left; waits out its backoff',
  },
  {
    verb: 'snooze',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'the handler returned snooze(duration); no try is spent',
  },
  {
    verb: 'hand back',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'its provider waits or has stopped, or it paused its batch; no try is spent, and it is no start',
  },
  {
    verb: 'fail',
    from: ['running'],
    to: 'failed',
    by: 'worker',
    when: 'it failed with no tries left, or said doNotRetry',
  },
  {
    verb: 'give back',
    from: ['running'],
    to: 'waiting',
    by: 'worker',
    when: 'it was claimed and has not begun: no slot within a second, a stop, or a lost answer; no try is spent',
  },
  { verb: 'release', from: ['running'], to: 'waiting', by: 'worker', when: 'the worker shuts down; no try is spent' },
  { verb: 'recover', from: ['running'], to: 'waiting', by: 'watchdog', when: 'its worker died; no try is spent' },
  {
    verb: 'stall',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: "its worker died and the kind says onOrphan: 'stall'",
  },
  {
    verb: 'give up',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: "its worker died and the kind says onOrphan: 'fail'",
  },
  {
    verb: 'set aside',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: 'its worker died ten times in a row and it never came a step further',
  },
  {
    verb: 'restart',
    from: ['running'],
    to: 'waiting',
    by: 'supervisor',
    when: 'its process died and not by it, or nobody knows by whom; no try is spent',
  },
  {
    verb: 'charge',
    from: ['running'],
    to: 'waiting',
    by: 'supervisor',
    when: 'its process died by it and it has tries left; waits out its backoff',
  },
  {
    verb: 'poison',
    from: ['running'],
    to: 'failed',
    by: 'supervisor',
    when: 'its process died by it, maxCrashes times by now or with no tries left',
  },
  {
    verb: 'time out',
    from: ['running'],
    to: 'waiting',
    by: 'watchdog',
    when: 'a minute after its timeout its worker had not ended it; a failure is counted, and it waits out its backoff',
  },
  {
    verb: 'time out for good',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: 'the same with no tries left',
  },
  {
    verb: 'put back',
    from: ['running'],
    to: 'waiting',
    by: 'watchdog',
    when: "it made no progress for stallAfter and the kind says onStall: 'retry'; no try is spent",
  },
  {
    verb: 'stand still',
    from: ['running'],
    to: 'stalled',
    by: 'watchdog',
    when: "it made no progress for stallAfter and the kind says onStall: 'stall'",
  },
  {
    verb: 'stand still for good',
    from: ['running'],
    to: 'failed',
    by: 'watchdog',
    when: "it made no progress for stallAfter and the kind says onStall: 'fail'",
  },
  {
    verb: 'expire',
    from: ['waiting', 'running', 'stalled'],
    to: 'failed',
    by: 'watchdog',
    when: 'it is older than maxAge',
  },
  { verb: 'resume', from: ['stalled'], to: 'waiting', by: 'person', when: 'pressed; it goes on at once' },
  {
    verb: 'cancel',
    from: ['waiting', 'running', 'stalled', 'cancelled'],
    to: 'cancelled',
    by: 'person',
    when: 'pressed; a running attempt loses its lease at once',
  },
  {
    verb: 'retry',
    from: ['failed', 'skipped', 'cancelled'],
    to: 'waiting',
    by: 'person',
    when: 'pressed; it goes on after its last step, with a new budget of tries; attempts go on counting',
  },
  {
    verb: 'rerun',
    from: ['succeeded', 'failed', 'skipped', 'cancelled'],
    to: 'waiting',
    by: 'person',
    when: 'jobs retry --from-scratch: the same, but what its steps saved is deleted and each of them runs again',
  },
  {
    verb: 'skip by hand',
    from: ['waiting', 'running', 'stalled', 'failed', 'skipped'],
    to: 'skipped',
    by: 'person',
    when: 'it shall not run, or not again; a running attempt loses its lease at once',
  },
  {
    verb: 'fail by hand',
    from: ['waiting', 'running', 'stalled', 'failed'],
    to: 'failed',
    by: 'person',
    when: 'an application gives it up by a rule of its own; a running attempt loses its lease at once',
  },
]

export const transitionsFrom = (state: JobState): readonly Transition[] =>
  transitions.filter(way => way.from.includes(state))
