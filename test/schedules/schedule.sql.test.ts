/** A scheduler that dies, or is cut off, at any point of a firing: the occurrence is neither lost nor fired twice (I8). */
import { describe, expect, test } from 'vitest'
import { defineJob, defineSchedule, hours, type Schedule } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { pruneExpiredRows } from '../../src/maintenance/sql/expired-rows.ts'
import {
  bringIntoForce,
  fireOccurrences,
  readSchedules,
  type StoredSchedule,
} from '../../src/schedules/schedule.sql.ts'
import { createScheduler } from '../../src/schedules/scheduler.ts'
import { faulty, linkLost } from '../support/faulty-db.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()
const tidy = defineJob({ kind: 'tidy', run: () => 'done' })
const hourly = defineSchedule({ name: 'hourly', job: tidy, every: hours(1), catchUp: 'all' })

/** A process with that schedule, and faults between it and the database. */
function processWith(...schedules: Schedule[]) {
  const db = faulty(store.another())
  const reported: string[] = []
  const { tick } = createScheduler({ db, log: silentLog, schedules, fired: queue => void reported.push(queue) })
  return { db, tick, reported }
}

const refs = async () =>
  (await store.sql<{ ref: string }>(`select ref from retoma.job order by id`)).map(row => row.ref)
const next = async () => (await store.sql<{ next_at: Date }>(`select next_at from retoma.schedule`))[0]?.next_at

const one = 3600 // 13:00
const occurrence = 'hourly@2030-01-01T13:00:00Z'

describe('a firing that ends', () => {
  const before = ['transaction', 'transaction.1', 'transaction.2', 'transaction.3', 'transaction.4']
  test.each([
    ...before.map(point => [point, 'before'] as const),
    ...before.slice(1).map(point => [point, 'after'] as const),
  ])('at %s, %s it: leaves the occurrence to whoever ticks next', async (point, when) => {
    const { db, tick, reported } = processWith(hourly)
    await tick(at(0))
    db.fail(point, when, linkLost())
    expect(await tick(at(one))).toBe(1000) // it tries again soon
    expect(reported).toEqual([])
    expect(await refs()).toEqual([])
    expect(await next()).toEqual(at(one))
    await processWith(hourly).tick(at(one))
    expect(await refs()).toEqual([occurrence])
  })

  test('after its commit, unheard: is not fired again', async () => {
    const { db, tick } = processWith(hourly)
    await tick(at(0))
    db.fail('transaction', 'after', linkLost())
    expect(await tick(at(one))).toBe(1000) // it tries again soon
    expect(await refs()).toEqual([occurrence])
    await tick(at(one))
    await processWith(hourly).tick(at(one))
    expect(await refs()).toEqual([occurrence])
    expect(await next()).toEqual(at(2 * one))
  })
})

test('a process that is stopped in mid-firing and comes back late writes nothing', async () => {
  const slow = processWith(hourly)
  const quick = processWith(hourly)
  await slow.tick(at(0))
  let letGo = () => {}
  const held = new Promise<void>(resolve => {
    letGo = resolve
  })
  slow.db.hold('transaction', 'before', held)
  const begun = slow.db.askedFor('transaction')
  const late = slow.tick(at(one))
  await begun
  await quick.tick(at(one))
  await quick.tick(at(2 * one))
  letGo()
  await late
  expect(await refs()).toEqual([occurrence, 'hourly@2030-01-01T14:00:00Z'])
  expect(await next()).toEqual(at(3 * one))
  expect(slow.reported).toEqual([])
})

test('an occurrence that another has fired is lost, though the next one is due by now as well', async () => {
  await processWith(hourly).tick(at(0))
  const firing = {
    nextAt: at(one),
    afterwards: at(2 * one),
    occurrence: at(one),
    jobs: [newJob({ ref: occurrence })],
    paused: false,
  }
  const fire = () => fireOccurrences(store.another(), { ...hourly, kind: 'tidy' }, firing, at(3 * one))
  const fired = await Promise.all(Array.from({ length: 8 }, fire))
  expect(fired.filter(ids => ids !== undefined)).toHaveLength(1)
  expect(await fire()).toBeUndefined()
  expect(await refs()).toEqual([occurrence])
  expect(await next()).toEqual(at(2 * one))
})

test('of two schedules one whose firing fails does not keep the other from its occurrence', async () => {
  const { db, tick, reported } = processWith(hourly, { ...hourly, name: 'other' })
  await tick(at(0))
  db.fail('transaction', 'before', linkLost())
  expect(await tick(at(one))).toBe(1000) // it tries again soon
  expect(await refs()).toEqual(['other@2030-01-01T13:00:00Z'])
  expect(reported).toEqual(['default'])
  await tick(at(one))
  expect((await refs()).sort()).toEqual([occurrence, 'other@2030-01-01T13:00:00Z'])
})

test('a check with nothing due is one statement, and writes once a minute at most', async () => {
  const { db, tick } = processWith(hourly)
  await tick(at(0))
  db.asked.length = 0
  const version = async () => (await store.sql<{ xmin: string }>(`select xmin::text from retoma.schedule`))[0]!.xmin
  const versions = new Set([await version()])
  for (let second = 30; second <= 600; second += 30) {
    expect(await tick(at(second))).toBe(30_000)
    versions.add(await version())
  }
  expect(db.asked).toEqual(Array.from({ length: 20 }, () => 'schedule_due'))
  expect(versions.size).toBeLessThanOrEqual(11)
})

test('it wakes at the next occurrence when that is sooner than its next check', async () => {
  const { tick } = processWith(hourly)
  await tick(at(0))
  expect(await tick(at(one - 12))).toBe(12_000)
  expect(await tick(at(one))).toBe(30_000)
})

test('a list of missed occurrences that is longer than one tick takes goes on at once', async () => {
  const { tick } = processWith({ ...hourly, recurrence: { cron: '* * * * * *', timeZone: 'UTC' } })
  await tick(at(0))
  expect(await tick(at(1500.5))).toBe(0)
  expect((await refs()).length).toBe(1000)
  expect(await tick(at(1500.5))).toBe(500)
  expect(new Set(await refs()).size).toBe(1500)
})

describe('the row of a schedule that no code has any more', () => {
  const day = 86_400
  const recurrence = { every: hours(1) }
  const planned = (name: string): StoredSchedule => ({ name, kind: 'k', recurrence, catchUp: 'all' })
  const left = async (now: number, watchedFrom: number | undefined) => {
    await store.sql(`update retoma.periodic_lease set at = $1, since = $2 where name = 'watchdog'`, [
      at(now),
      watchedFrom === undefined ? '-infinity' : at(watchedFrom),
    ])
    const { schedules } = await pruneExpiredRows(store.db, 100, at(now))
    const rows = await store.sql<{ name: string }>(`select name from retoma.schedule order by name`)
    return { removed: schedules, left: rows.map(row => row.name) }
  }

  test('goes 7 days after the last process that has it, and never while an old or a new version has it', async () => {
    for (const name of ['gone', 'kept', 'old']) await bringIntoForce(store.db, planned(name), at(3600), at(0))
    // The new version has another recurrence for `old`; a process of the old version still runs.
    await bringIntoForce(store.db, { ...planned('old'), recurrence: { every: hours(2) } }, at(7200), at(10))
    const processes = [[planned('kept')], [planned('kept'), { ...planned('old'), recurrence: { every: hours(2) } }]]
    for (const process of processes) await readSchedules(store.db, process, at(6.9 * day))
    expect(await left(7 * day, 0)).toEqual({ removed: [], left: ['gone', 'kept', 'old'] })
    expect(await left(7 * day + 1, 0)).toEqual({ removed: ['gone'], left: ['kept', 'old'] })
    await readSchedules(store.db, processes[0]!, at(13 * day))
    expect(await left(14 * day, 0)).toEqual({ removed: ['old'], left: ['kept'] })
  })

  test('stays after a time in which nothing ran, until the watchdogs have checked for an hour', async () => {
    await bringIntoForce(store.db, planned('resting'), at(3600), at(0))
    const start = 30 * day
    expect(await left(start, undefined)).toEqual({ removed: [], left: ['resting'] })
    expect(await left(start + 3599, start)).toEqual({ removed: [], left: ['resting'] })
    // Within the hour a process with the schedule starts: the row and its missed occurrences stay.
    const [seen] = await readSchedules(store.db, [planned('resting')], at(start + 3599))
    expect(seen).toMatchObject({ due: true, nextAt: at(3600) })
    expect(await left(start + 7200, start)).toEqual({ removed: [], left: ['resting'] })
    expect(await left(start + 9 * day, start)).toEqual({ removed: ['resting'], left: [] })
  })
})
