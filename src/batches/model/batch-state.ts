/**
 * Defines the states of a batch and all allowed transitions. docs/state-machine.md is printed from `batchTransitions`, and a test
 * runs every transition in every state on a real database and expects exactly this table.
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
  name: string
  from: readonly BatchState[]
  /** 'the same': the action does nothing, without an error. */
  to: BatchState | 'the same'
  by: 'engine' | 'watchdog' | 'person'
  when: string
}

const open = ['submitting', 'waiting', 'running'] as const

export const batchTransitions: readonly BatchTransition[] = [
  { name: 'submit', from: ['submitting'], to: 'running', by: 'engine', when: 'all items are received' },
  {
    name: 'finish',
    from: ['waiting', 'running', 'stalled'],
    to: 'succeeded',
    by: 'engine',
    when: 'every job of the batch is final, and each succeeded or was skipped; the onComplete job is enqueued',
  },
  {
    name: 'finish',
    from: ['waiting', 'running', 'stalled'],
    to: 'completed_with_failures',
    by: 'engine',
    when: 'every job of the batch is final, and at least one failed or was cancelled by itself; the onComplete job is enqueued',
  },
  {
    name: 'stop',
    from: [...open],
    to: 'paused',
    by: 'engine',
    when: 'more items have failed than stopAfter allows',
  },
  {
    name: 'stall',
    from: [...open],
    to: 'stalled',
    by: 'watchdog',
    when: 'no attempt has ended for stallAfter, and resumes are left',
  },
  {
    name: 'fail',
    from: [...open],
    to: 'failed',
    by: 'watchdog',
    when: 'the same, and no resumes are left; the unfinished items fail',
  },
  { name: 'pause', from: [...open], to: 'paused', by: 'person', when: 'no further item starts' },
  { name: 'pause', from: ['paused'], to: 'the same', by: 'person', when: 'the batch is paused' },
  {
    name: 'resume',
    from: ['paused'],
    to: 'running',
    by: 'person',
    when: 'the batch continues; submitting if items are still arriving',
  },
  {
    name: 'resume',
    from: ['stalled'],
    to: 'running',
    by: 'person',
    when: 'the resume is counted; the stalled items wait again',
  },
  {
    name: 'resume',
    from: [...open, 'succeeded', 'completed_with_failures'],
    to: 'the same',
    by: 'person',
    when: 'nothing to resume',
  },
  {
    name: 'retry failed',
    from: ['stalled', 'failed', 'completed_with_failures'],
    to: 'running',
    by: 'person',
    when: 'the failed items wait again; counted as a resume of a stalled batch; a failed batch gets maxResumes new resumes',
  },
  { name: 'retry failed', from: ['succeeded'], to: 'the same', by: 'person', when: 'no item has failed' },
  {
    name: 'retry failed',
    from: [...open, 'paused'],
    to: 'the same',
    by: 'person',
    when: 'the failed items wait again',
  },
  {
    name: 'cancel',
    from: [...open, 'paused', 'stalled'],
    to: 'cancelled',
    by: 'person',
    when: 'at once; a cascade cancels the items in chunks; running attempts lose their lease',
  },
  {
    name: 'skip the failed',
    from: ['completed_with_failures'],
    to: 'succeeded',
    by: 'engine',
    when: 'a person skipped the last failed item, and no item is cancelled',
  },
  { name: 'cancel', from: ['cancelled'], to: 'the same', by: 'person', when: 'the batch is cancelled' },
]
