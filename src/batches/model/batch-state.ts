/**
 * Defines the states of a batch and all allowed transitions. docs/state-machine.md is printed from `batchTransitions`, and a test
 * runs every verb in every state on a real database and expects exactly this table.
 *
 * `waiting` is not stored: a running batch without a started job is shown as `waiting`, so that no claim has to write the state.
 */

export const batchStates = [
  'submitting',
  'waiting',
  'running',
  'paused',
  'stalled',
  'succeeded',
  'completed_with_failures',
  'failed',
  'cancelled',
] as const
/** The state of a batch. */
export type BatchState = (typeof batchStates)[number]

/** @public for scripts/docs */
export const finalBatchStates = [
  'succeeded',
  'completed_with_failures',
  'failed',
  'cancelled',
] as const satisfies readonly BatchState[]

export const isFinalBatch = (state: BatchState): boolean => (finalBatchStates as readonly BatchState[]).includes(state)

export interface BatchTransition {
  verb: string
  from: readonly BatchState[]
  /** 'the same': the verb does nothing, without an error. */
  to: BatchState | 'the same'
  by: 'engine' | 'watchdog' | 'person'
  when: string
}

const open = ['submitting', 'waiting', 'running'] as const

export const batchTransitions: readonly BatchTransition[] = [
  { verb: 'submit', from: ['submitting'], to: 'running', by: 'engine', when: 'its list is over' },
  {
    verb: 'finish',
    from: ['waiting', 'running', 'stalled'],
    to: 'succeeded',
    by: 'engine',
    when: 'every job of the batch is final and none failed; the onComplete job is enqueued',
  },
  {
    verb: 'finish',
    from: ['waiting', 'running', 'stalled'],
    to: 'completed_with_failures',
    by: 'engine',
    when: 'every job of the batch is final and at least one failed; the onComplete job is enqueued',
  },
  {
    verb: 'stop',
    from: [...open],
    to: 'paused',
    by: 'engine',
    when: 'more have failed than stopAfter allows',
  },
  {
    verb: 'stall',
    from: [...open],
    to: 'stalled',
    by: 'watchdog',
    when: 'no attempt has ended for stallAfter, and it may be resumed again',
  },
  {
    verb: 'give up',
    from: [...open],
    to: 'failed',
    by: 'watchdog',
    when: 'the same with its resumes spent; what has not ended fails',
  },
  { verb: 'pause', from: [...open], to: 'paused', by: 'person', when: 'nothing more of it starts' },
  { verb: 'pause', from: ['paused'], to: 'the same', by: 'person', when: 'it is' },
  {
    verb: 'resume',
    from: ['paused'],
    to: 'running',
    by: 'person',
    when: 'goes on; submitting where its list was not over',
  },
  { verb: 'resume', from: ['stalled'], to: 'running', by: 'person', when: 'counted; its stalled jobs wait again' },
  {
    verb: 'resume',
    from: [...open, 'succeeded', 'completed_with_failures'],
    to: 'the same',
    by: 'person',
    when: 'nothing to resume',
  },
  {
    verb: 'retry failed',
    from: ['stalled', 'failed', 'completed_with_failures'],
    to: 'running',
    by: 'person',
    when: 'its failed jobs wait again; of stalled counted as a resume, of failed with new resumes',
  },
  { verb: 'retry failed', from: ['succeeded'], to: 'the same', by: 'person', when: 'no job failed' },
  { verb: 'retry failed', from: [...open, 'paused'], to: 'the same', by: 'person', when: 'its failed jobs wait again' },
  {
    verb: 'cancel',
    from: [...open, 'paused', 'stalled'],
    to: 'cancelled',
    by: 'person',
    when: 'at once; its jobs follow in chunks, running attempts lose their lease',
  },
  {
    verb: 'skip the failed',
    from: ['completed_with_failures'],
    to: 'succeeded',
    by: 'engine',
    when: 'a person skipped the last failed job',
  },
  { verb: 'cancel', from: ['cancelled'], to: 'the same', by: 'person', when: 'it is' },
]
