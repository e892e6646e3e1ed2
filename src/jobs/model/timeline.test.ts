import { expect, test } from 'vitest'
import { type TimelineFacts, timelineOf } from './timeline.ts'

const at = (seconds: number) => new Date(Date.UTC(2030, 0, 1, 12, 0, seconds))
const job: TimelineFacts = {
  state: 'waiting',
  attempt: 0,
  createdAt: at(0),
  startedAt: null,
  finishedAt: null,
  runAt: at(0),
  error: null,
  history: [],
  checkpoints: [],
  events: [],
}
const brief = (given: Partial<TimelineFacts>) =>
  timelineOf({ ...job, ...given }).map(({ at: when, attempt, type }) => [when.getUTCSeconds(), attempt, type])

test('a new job is enqueued, and due', () => {
  expect(brief({ runAt: at(9) })).toEqual([
    [0, null, 'enqueued'],
    [9, null, 'due'],
  ])
})

test('checkpoints, failures, actions and the end come in the order of time', () => {
  const checkpoint = { bytes: 5, sleepUntil: null }
  const moments = timelineOf({
    ...job,
    state: 'succeeded',
    attempt: 4,
    startedAt: at(40),
    finishedAt: at(45),
    checkpoints: [
      { ...checkpoint, name: 'a', attempt: 1, at: at(1) },
      { ...checkpoint, name: 'nap', attempt: 2, at: at(12), sleepUntil: at(30) },
      { ...checkpoint, name: 'b', attempt: 4, at: at(42) },
    ],
    history: [
      { attempt: 1, type: 'error', message: 'no', startedAt: at(1), at: at(2) },
      { attempt: 3, type: 'orphan', message: 'gone', startedAt: at(31), at: at(35) },
    ],
    events: [
      { type: 'state', at: at(2), data: { from: 'running', to: 'failed', attempt: 1 } },
      { type: 'action', at: at(10), data: { what: 'retry', from: 'failed', to: 'waiting' } },
      { type: 'warning', at: at(45), data: { what: 'unused_steps', steps: ['x'], attempt: 4 } },
    ],
  })
  expect(moments.map(each => [each.at.getUTCSeconds(), each.attempt, each.type])).toEqual([
    [0, null, 'enqueued'],
    [1, 1, 'started'],
    [1, 1, 'saved'],
    [2, 1, 'failed'],
    [10, null, 'action'],
    [12, 2, 'slept'],
    [31, 3, 'started'],
    [35, 3, 'failed'],
    [40, 4, 'started'],
    [42, 4, 'saved'],
    [45, 4, 'warned'],
    [45, 4, 'succeeded'],
  ])
})

test('an end appears once: as its failure, as its action, or by itself', () => {
  const ended = { attempt: 1, startedAt: at(1), finishedAt: at(3) }
  const failure = { attempt: 1, type: 'error', message: 'no', startedAt: at(1), at: at(3) }
  expect(brief({ ...ended, state: 'failed', history: [failure] }).at(-1)).toEqual([3, 1, 'failed'])
  expect(brief({ ...ended, state: 'failed' }).at(-1)).toEqual([3, 1, 'gave up'])
  expect(brief({ ...ended, state: 'skipped', error: { message: 'empty' } }).at(-1)).toEqual([3, 1, 'skipped'])
  const cancel = { type: 'action', at: at(3), data: { what: 'cancel', to: 'cancelled' } }
  expect(brief({ ...ended, state: 'cancelled', events: [cancel] }).at(-1)).toEqual([3, null, 'action'])
  expect(brief({ ...ended, state: 'cancelled' }).at(-1)).toEqual([3, 1, 'cancelled'])
  const stall = { type: 'state', at: at(2), data: { to: 'stalled', attempt: 1 } }
  expect(brief({ ...ended, finishedAt: null, state: 'stalled', events: [stall] }).at(-1)).toEqual([2, 1, 'stalled'])
})
