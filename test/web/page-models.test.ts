/** The pure parts of the pages: bars of a timeline, cells of a map, filters of an action. */
import { expect, test } from 'vitest'
import { rereadMs, stillSinceOf } from '../../web/src/api/list-pace.ts'
import { tickTexts, topOf } from '../../web/src/components/chart-axis.ts'
import { gridOf } from '../../web/src/components/state-map-model.ts'
import { cellsOf, itemsOf } from '../../web/src/pages/batches/item-map-model.ts'
import { lanesOf, spanOf } from '../../web/src/pages/jobs/gantt-model.ts'
import { appliedOf, bulkOf, queryOf } from '../../web/src/pages/jobs/job-filter.ts'
import type { JobDetail } from '../../web/src/pages/jobs/job-model.ts'
import { idleSecondsOf } from '../../web/src/systems/classifier/idle-seconds.ts'

const at = (second: number) => new Date(Date.UTC(2026, 10, 16, 12, 0, second)).toISOString()
const time = (second: number) => Date.parse(at(second))

const attempt = (n: number, more: Partial<JobDetail['attempts'][number]>) => ({
  attempt: n,
  outcome: null,
  code: null,
  message: null,
  worker: null,
  started_at: null,
  ended_at: null,
  ...more,
})

const job = (more: Partial<JobDetail>): JobDetail =>
  ({ created_at: at(0), run_at: at(0), finished_at: null, attempts: [], checkpoints: [], ...more }) as JobDetail

test('the axis of a chart with zeros only reads 0 and 1, and no text twice', () => {
  expect(topOf(0, false)).toBe(1)
  expect(topOf(0.02, false)).toBeCloseTo(0.022)
  expect(tickTexts([0, 0.0005, 0.001, 1], value => value.toFixed(0))).toEqual(['0', '', '', '1'])
})

test('a list of several pages is read again with the same number of requests, and stands still with too many pages', () => {
  expect(rereadMs(2000, 1, 5)).toBe(2000)
  expect(rereadMs(2000, 3, 5)).toBe(6000)
  expect(rereadMs(2000, 6, 5)).toBe(false)
  const pages = [30, 10, 20].map(readAt => ({ items: [], next: null, readAt }))
  expect(stillSinceOf(pages, 5)).toBeUndefined()
  expect(stillSinceOf(pages, 2)).toBe(10)
})

test('a timeline shows the queue, each attempt with its steps and sleeps, and the wait in between', () => {
  const running = job({
    state: 'running',
    attempts: [
      attempt(1, { outcome: 'error', started_at: at(4), ended_at: at(10) }),
      attempt(2, { outcome: 'running', started_at: at(20) }),
    ],
    checkpoints: [
      { name: 'search', attempt: 2, at: at(25), bytes: 2, sleep_until: null },
      { name: 'nap', attempt: 2, at: at(26), bytes: 2, sleep_until: at(40) },
    ],
  })
  const lanes = lanesOf(running, time(30))
  expect(lanes.flatMap(({ bars }) => bars.map(({ kind, from, to }) => [kind, from, to]))).toEqual([
    ['queue', time(0), time(4)],
    ['attempt', time(4), time(10)],
    ['wait', time(10), time(20)],
    ['attempt', time(20), time(30)],
    ['step', time(20), time(25)],
    ['sleep', time(26), time(40)],
  ])
  expect(lanes[1]?.bars[0]).toMatchObject({ unknownStart: false, outcome: 'error', open: false })
  expect(lanes[3]?.bars[0]).toMatchObject({ unknownStart: false, open: true })
  expect(spanOf(lanes, running, time(30))).toEqual([time(0), time(40)])
})

test('the first step of an attempt whose start is not kept begins where the attempt begins', () => {
  const slept = job({
    state: 'running',
    attempts: [attempt(1, { ended_at: at(8) }), attempt(2, { outcome: 'running', started_at: at(20) })],
    checkpoints: [
      { name: 'read', attempt: 1, at: at(5), bytes: 2, sleep_until: null },
      { name: 'convert', attempt: 1, at: at(8), bytes: 2, sleep_until: null },
    ],
  })
  const steps = lanesOf(slept, time(30)).flatMap(({ bars }) => bars.filter(({ kind }) => kind === 'step'))
  expect(steps.map(({ from, to, unknownStart }) => [from, to, unknownStart])).toEqual([
    [time(0), time(5), true],
    [time(5), time(8), false],
  ])
})

test('a timeline of a job that waits ends at its next attempt, or grows while the job is due', () => {
  const waiting = job({ state: 'waiting', run_at: at(50) })
  expect(lanesOf(waiting, time(30))[0]?.bars[0]).toMatchObject({ kind: 'wait', to: time(50), open: false })
  expect(lanesOf(waiting, time(60))[0]?.bars[0]).toMatchObject({ kind: 'queue', to: time(60), open: true })
})

test('a cell of many items shows the state that most needs attention, and names its items', () => {
  const data = { total: 10_000, items_per_cell: 10, samples_per_cell: 5, states: 'sssssssfssrswss-----' }
  expect(cellsOf(data)).toEqual(['succeeded', 'failed', 'running', 'erased'])
  expect(itemsOf(1, data)).toEqual([10, 19])
  expect(itemsOf(999, data)).toEqual([9990, 9999])
  expect(cellsOf({ total: 3, items_per_cell: 1, samples_per_cell: 1, states: 'stw' })).toEqual([
    'succeeded',
    'stalled',
    'waiting',
  ])
})

test('a map of 5,000 cells fits a phone and a large screen', () => {
  for (const width of [300, 1000, 2300]) {
    const { columns, rows, step } = gridOf(5000, width)
    expect(columns * step).toBeLessThanOrEqual(width)
    expect(columns * rows).toBeGreaterThanOrEqual(5000)
  }
})

test('a map whose width is not measured yet takes no height', () => {
  const { rows, step } = gridOf(5000, 0)
  expect(rows * step).toBe(0)
})

test('an action on a filter takes the fields that the list takes, and none without a filter', () => {
  expect(queryOf({ state: 'failed', kind: 'mail', error: 'ink' })).toEqual({
    state: 'failed',
    kind: 'mail',
    error: 'ink',
  })
  expect(queryOf({ state: 'failed', kind: 'mail', batch: '7' })).toEqual({ state: 'failed', batch_id: '7' })
  expect(bulkOf({})).toBeUndefined()
  expect(bulkOf({ state: 'failed' })).toEqual({})
  expect(bulkOf({ kind: 'mail', ref: 'a' })).toBeUndefined()
  expect(bulkOf({ queue: 'post', error: 'ink' })).toEqual({ queue: 'post', error: 'ink' })
  expect(bulkOf({ state: 'no such state' })).toBeUndefined()
})

test('an action on a batch is offered only if it takes exactly the jobs of the list', () => {
  expect(bulkOf({ batch: '7' })).toEqual({ batch_id: '7' })
  expect(bulkOf({ batch: '7', state: 'failed' })).toEqual({ batch_id: '7' })
  for (const name of ['kind', 'queue', 'group', 'error', 'worker', 'ref', 'key'])
    expect(bulkOf({ batch: '7', [name]: 'ink' }), name).toBeUndefined()
  for (const name of ['after', 'before']) expect(bulkOf({ batch: '7', [name]: at(0) }), name).toBeUndefined()
  expect(appliedOf({ batch: '7', state: 'failed', error: 'ink' })).toEqual({ batch: '7', state: 'failed' })
})

test('the time without progress ticks between two reads, and stands still while the server does not answer', () => {
  const detail = { status: 'EM_ANDAMENTO' as const, segundos_sem_progresso: 40 }
  expect(idleSecondsOf(detail, time(0), time(4))).toBe(44)
  expect(idleSecondsOf(detail, time(0), time(59))).toBe(50)
  expect(idleSecondsOf({ ...detail, status: 'PAUSADO' }, time(0), time(4))).toBe(0)
})
