/** Each invariant of the simulation could fail: what it says of a world in which it is broken. */
import { expect, test } from 'vitest'
import { afterEachStep, I5, type Snapshot, type Step } from '../../simulate/invariants.ts'

const nothing: Snapshot = {
  jobs: new Map(),
  workers: [],
  batches: [],
  checkpoints: new Set(),
  miscounted: [],
  crowded: [],
  effects: [],
  doubled: [],
}
type Row = Snapshot['jobs'] extends Map<string, infer R> ? R : never

const row: Row = {
  id: '1',
  kind: 'quick',
  state: 'running',
  attempt: 2,
  failures: 0,
  crashes: 0,
  worker: 'w-1',
  batch: null,
  result: null,
}
const withJob = (about: Partial<Row>): Snapshot => ({ ...nothing, jobs: new Map([['1', { ...row, ...about }]]) })
const from = (was: Partial<Row>, now: Partial<Row>): Step => ({
  before: withJob(was),
  after: withJob(now),
  own: new Set(['w-1']),
})
const seen = (about: Partial<Snapshot>): Step => ({ before: nothing, after: { ...nothing, ...about }, own: new Set() })
const done = { state: 'succeeded', worker: null }

test.each<[keyof typeof afterEachStep, string, Step, RegExp]>([
  ['I2', 'one that lost its lease settles', from({ worker: 'w-2' }, done), /does not hold it/],
  ['I2', 'a finished job is settled again', from(done, { state: 'failed', worker: null }), /settled again/],
  ['I2', 'an attempt goes back', from({}, { attempt: 1 }), /went back/],
  ['I4', 'a transaction applies twice', seen({ effects: [{ job: '1', n: 2, state: 'running' }] }), /applied 2 times/],
  ['I6', 'a counter is wrong', seen({ miscounted: [{ id: '7' }] }), /batch 7/],
  ['I7', 'a bystander pays', from({}, { failures: 1 }), /charged 1 failures of 0/],
  ['I7', 'a crash is charged to one that caused none', from({}, { crashes: 1 }), /did not cause/],
  ['I8', 'a slot fires twice', seen({ doubled: [{ slot: '12:00', n: 2 }] }), /fired 2 times/],
  ['I9', 'too many run at once', seen({ crowded: [{ key: 'a', running: 3 }] }), /3 jobs of group a/],
])('%s breaks when %s', (name, _, step, words) => {
  expect(afterEachStep[name](step)).toEqual([expect.stringMatching(words)])
})

test('I5 breaks when a finished step begins again in the attempt that holds the job, and only then', () => {
  const last = { ...withJob({}), checkpoints: new Set(['1/read']) }
  expect(I5(last, { job: '1', attempt: 2, step: 'read' })).toHaveLength(1)
  expect(I5(last, { job: '1', attempt: 1, step: 'read' })).toEqual([])
  expect(I5(last, { job: '1', attempt: 2, step: 'write' })).toEqual([])
})

test('nothing breaks when the holder settles its job', () => {
  const step = from({}, done)
  expect(Object.values(afterEachStep).flatMap(invariant => invariant(step))).toEqual([])
})
