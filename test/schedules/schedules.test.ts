/** Schedules as an application has them: engines of several processes and versions on one database and one clock. */

import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Engine } from '../../src/engine/create-engine.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import {
  createEngine,
  defineJob,
  defineSchedule,
  hours,
  type JobView,
  minutes,
  type Schedule,
  seconds,
} from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { borrowDatabase, liveEngine, until } from '../support/engine.ts'
import { englishIn } from '../support/portuguese.ts'

const tidy = defineJob({ kind: 'tidy', run: () => 'done' })
const note = defineJob({ kind: 'note', run: (_, input: { day: string }) => input.day })

const everyHour = (about: Partial<Schedule> = {}): Schedule => ({
  ...defineSchedule({ name: 'tidy', job: tidy, every: hours(1) }),
  ...about,
})

/** The virtual clock begins at noon; occurrences of an hour are 13:00, 14:00 … */
async function stage() {
  const { url, giveBack } = await borrowDatabase()
  const clock = new VirtualClock()
  const engines: Engine[] = []
  onTestFinished(async () => {
    await Promise.all(engines.map(each => each.close()))
    await giveBack()
  })
  /** A process that has these schedules in its code. */
  const process = async (...schedules: Schedule[]) => {
    const engine = await createEngine({ databaseUrl: url, schedules, clock, connections: 2 })
    engines.push(engine)
    return engine
  }
  const reader = await process()
  const jobs = async () => (await reader.jobs.list({ limit: 500 })).items.reverse()
  const refs = async () => (await jobs()).map(job => job.ref?.replace('2030-01-', ''))
  const row = async (name = 'tidy') => (await reader.schedules.list()).find(each => each.name === name)!
  return { url, clock, process, jobs, refs, row }
}

const iso = (at: Date | null) => at?.toISOString().replace('.000Z', 'Z')

test('an occurrence fires once when it is due, and its job tells which occurrence it is for', async () => {
  const { clock, process, jobs, row } = await stage()
  const engine = await process(
    defineSchedule({
      name: 'nightly',
      job: note,
      cron: '0 4 * * *',
      timeZone: 'America/Sao_Paulo',
      input: occurrence => ({ day: occurrence.toISOString() }),
      options: { priority: 1, groupKey: 'acme' },
    }),
  )
  await internalsOf(engine).schedule()
  expect(iso((await row('nightly')).nextAt)).toBe('2030-01-02T07:00:00Z')
  await clock.advance(hours(18.9))
  await internalsOf(engine).schedule()
  expect(await jobs()).toEqual([])
  await clock.advance(hours(0.1))
  await internalsOf(engine).schedule()
  await internalsOf(engine).schedule()
  const [job, ...others] = await jobs()
  expect(others).toEqual([])
  expect(job).toMatchObject({
    kind: 'note',
    ref: 'nightly@2030-01-02T07:00:00Z',
    input: { day: '2030-01-02T07:00:00.000Z' },
    priority: 1,
    groupKey: 'acme',
    runAt: clock.now(),
  } satisfies Partial<JobView>)
  expect(await row('nightly')).toEqual({
    name: 'nightly',
    kind: 'note',
    recurrence: { cron: '0 4 * * *', timeZone: 'America/Sao_Paulo' },
    catchUp: 'once',
    nextAt: new Date('2030-01-03T07:00:00Z'),
    lastOccurrence: new Date('2030-01-02T07:00:00Z'),
    lastAt: clock.now(),
    lastJob: job!.id,
    active: true,
    paused: false,
  })
})

test('eight processes that tick at once on a due occurrence make one job', async () => {
  const { clock, process, refs } = await stage()
  const engines = await Promise.all(Array.from({ length: 8 }, () => process(everyHour())))
  await Promise.all(engines.map(each => internalsOf(each).schedule()))
  for (let hour = 13; hour < 18; hour++) {
    await clock.advance(hours(1))
    await Promise.all(engines.map(each => internalsOf(each).schedule()))
    await Promise.all(engines.map(each => internalsOf(each).schedule()))
  }
  expect(await refs()).toEqual([13, 14, 15, 16, 17].map(hour => `tidy@01T${hour}:00:00Z`))
})

describe('after being off from noon to a quarter past four', () => {
  async function off(schedule: Schedule) {
    const { clock, process, refs, jobs, row } = await stage()
    const before = await process(schedule)
    await internalsOf(before).schedule()
    await before.close()
    await clock.advance(hours(4.25))
    const engine = await process(schedule)
    await internalsOf(engine).schedule()
    return { clock, refs, jobs, row, engine }
  }

  test('skip goes on with the next occurrence', async () => {
    const { clock, refs, row, engine } = await off(everyHour({ catchUp: 'skip' }))
    expect(await refs()).toEqual([])
    expect(await row()).toMatchObject({ nextAt: new Date('2030-01-01T17:00:00Z'), lastAt: null, lastOccurrence: null })
    await clock.advance(hours(0.75))
    await internalsOf(engine).schedule()
    expect(await refs()).toEqual(['tidy@01T17:00:00Z'])
  })

  test('once makes one job for all that were missed', async () => {
    const { refs, row, engine } = await off(everyHour({ catchUp: 'once' }))
    await internalsOf(engine).schedule()
    expect(await refs()).toEqual(['tidy@01T16:00:00Z'])
    expect((await row()).nextAt).toEqual(new Date('2030-01-01T17:00:00Z'))
  })

  test('all makes one job for each, in order, and each knows its occurrence', async () => {
    const { refs, jobs, engine } = await off({
      ...defineSchedule({
        name: 'tidy',
        job: note,
        every: hours(1),
        input: occurrence => ({ day: occurrence.toISOString() }),
      }),
      catchUp: 'all',
    })
    await internalsOf(engine).schedule()
    expect(await refs()).toEqual([13, 14, 15, 16].map(hour => `tidy@01T${hour}:00:00Z`))
    expect((await jobs()).map(job => job.input)).toEqual(
      [13, 14, 15, 16].map(hour => ({ day: `2030-01-01T${hour}:00:00.000Z` })),
    )
  })

  test('all works off a long list in chunks, without a gap or a repeat', async () => {
    const every = defineSchedule({ name: 'tidy', job: tidy, every: seconds(10), catchUp: 'all' })
    const { jobs, engine, row } = await off(every)
    expect((await row()).nextAt).toEqual(new Date('2030-01-01T14:46:50Z'))
    expect(await internalsOf(engine).schedule()).toBeGreaterThan(0)
    expect((await row()).nextAt).toEqual(new Date('2030-01-01T16:15:10Z'))
    let last: string | undefined
    const refs = new Set<string | null>()
    do {
      const { items, next } = await engine.jobs.list({ limit: 500, ...(last ? { after: last } : {}) })
      for (const job of items) refs.add(job.ref)
      last = next ?? undefined
    } while (last)
    expect(refs.size).toBe(4.25 * 360)
    expect((await jobs()).at(-1)!.ref).toBe('tidy@2030-01-01T16:15:00Z')
  })
})

test('a key keeps an occurrence from adding a job while the one before is not finished', async () => {
  const { clock, process, refs } = await stage()
  const engine = await process(defineSchedule({ name: 'tidy', job: tidy, every: hours(1), options: { key: 'tidy' } }))
  const occurrence = async () => {
    await internalsOf(engine).schedule()
    await clock.advance(hours(1))
  }
  for (let i = 0; i < 3; i++) await occurrence()
  expect(await refs()).toEqual(['tidy@01T13:00:00Z'])
  const worker = await internalsOf(engine).begin({}, 'by hand')
  await worker.drain()
  await worker.stop()
  await occurrence()
  expect(await refs()).toEqual(['tidy@01T13:00:00Z', 'tidy@01T15:00:00Z'])
})

test('a restart finds its occurrence where it was, and what is registered again changes nothing', async () => {
  const { clock, process, refs, row } = await stage()
  const first = await process(everyHour())
  await internalsOf(first).schedule()
  await clock.advance(minutes(59))
  await first.close()
  const before = await row()
  const second = await process(everyHour())
  await internalsOf(second).schedule()
  expect(await row()).toEqual({ ...before, active: true })
  await clock.advance(minutes(1))
  await internalsOf(second).schedule()
  expect(await refs()).toEqual(['tidy@01T13:00:00Z'])
})

test('a schedule that is taken out of the code does not fire, and is shown as one that nobody keeps', async () => {
  const { clock, process, refs, row } = await stage()
  const before = await process(everyHour())
  await internalsOf(before).schedule()
  await before.close()
  const after = await process(everyHour({ name: 'other' }))
  await clock.advance(hours(2))
  await internalsOf(after).schedule()
  expect(await refs()).toEqual([])
  expect(await row()).toMatchObject({ name: 'tidy', active: false })
})

describe('two versions of an app with different recurrences', () => {
  const old = everyHour()
  const changed = everyHour({ recurrence: { cron: '30 * * * *', timeZone: 'UTC' } })

  test('a changed recurrence comes into force at once, counted anew from then', async () => {
    const { clock, process, refs, row } = await stage()
    await internalsOf(await process(old)).schedule()
    await clock.advance(minutes(10))
    const engine = await process(changed)
    await internalsOf(engine).schedule()
    expect(await row()).toMatchObject({ recurrence: changed.recurrence, nextAt: new Date('2030-01-01T12:30:00Z') })
    await clock.advance(minutes(20))
    await internalsOf(engine).schedule()
    expect(await refs()).toEqual(['tidy@01T12:30:00Z'])
  })

  test('side by side only the newer fires, and an older process that starts again does not bring its recurrence back', async () => {
    const { clock, process, refs, row } = await stage()
    const older = await process(old)
    await internalsOf(older).schedule()
    const newer = await process(changed)
    await internalsOf(newer).schedule()
    const restarted = await process(old)
    for (let i = 0; i < 8 * 30; i++) {
      await clock.advance(seconds(30))
      await Promise.all([older, newer, restarted].map(each => internalsOf(each).schedule()))
      expect((await row()).recurrence).toEqual(changed.recurrence)
    }
    expect(await refs()).toEqual(['tidy@01T12:30:00Z', 'tidy@01T13:30:00Z'])
  })

  test('three minutes after the newer is gone the older takes over, and no occurrence falls in between', async () => {
    const { clock, process, refs, row } = await stage()
    const older = await process(old)
    await internalsOf(older).schedule()
    const newer = await process(changed)
    await internalsOf(newer).schedule()
    await clock.advance(minutes(58))
    await internalsOf(newer).schedule()
    await internalsOf(older).schedule()
    await newer.close()
    await clock.advance(minutes(3))
    await internalsOf(older).schedule()
    expect((await row()).recurrence).toEqual(changed.recurrence)
    await clock.advance(seconds(1))
    await internalsOf(older).schedule()
    expect((await row()).recurrence).toEqual(old.recurrence)
    expect(await refs()).toEqual(['tidy@01T12:30:00Z', 'tidy@01T13:00:00Z'])
  })

  test('eight that bring a new recurrence at once agree on it', async () => {
    const { clock, process, refs } = await stage()
    await internalsOf(await process(old)).schedule()
    const engines = await Promise.all(Array.from({ length: 8 }, () => process(changed)))
    await Promise.all(engines.map(each => internalsOf(each).schedule()))
    await clock.advance(minutes(30))
    await Promise.all(engines.map(each => internalsOf(each).schedule()))
    expect(await refs()).toEqual(['tidy@01T12:30:00Z'])
  })
})

test('a schedule whose input is refused keeps its occurrence, says so, and holds up no other', async () => {
  const { url, clock, process, refs, row } = await stage()
  let broken = false
  const makes = () => {
    if (broken) throw new Error('no input today')
    return { day: 'monday' }
  }
  const said: unknown[] = []
  const log = { ...silentLog, error: (facts: object) => void said.push(facts) }
  const engine = await createEngine({
    databaseUrl: url,
    clock,
    log,
    schedules: [defineSchedule({ name: 'a', job: note, every: hours(1), input: makes }), everyHour()],
  })
  onTestFinished(() => engine.close())
  await internalsOf(engine).schedule()
  broken = true
  await clock.advance(hours(1))
  expect(await internalsOf(engine).schedule()).toBe(seconds(30))
  expect(await refs()).toEqual(['tidy@01T13:00:00Z'])
  expect(said).toMatchObject([{ schedule: 'a', err: { message: 'no input today' } }])
  expect(iso((await row('a')).nextAt)).toBe('2030-01-01T13:00:00Z')
  broken = false
  await internalsOf(await process(defineSchedule({ name: 'a', job: note, every: hours(1), input: makes }))).schedule()
  expect(await refs()).toEqual(['tidy@01T13:00:00Z', 'a@01T13:00:00Z'])
})

describe('an engine is not made', () => {
  const strict = defineJob({
    kind: 'strict',
    input: {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'number' ? { value } : { issues: [{ message: 'it is no number' }] },
      },
    },
    run: () => 1,
  })
  test.each([
    [[everyHour(), everyHour()], 'the schedule "tidy" is not usable: another schedule has the same name'],
    [
      [defineSchedule({ name: 'a', job: strict, every: hours(1), input: 'x' as never })],
      'the schedule "a" is not usable: the input of a strict job is not valid: it is no number',
    ],
    [
      [defineSchedule({ name: 'a', job: note, every: hours(1), input: () => Promise.reject(1) as never })],
      'the schedule "a" is not usable: the input of a note job is not valid: it is a promise',
    ],
    [
      [
        defineSchedule({
          name: 'a',
          job: note,
          every: hours(1),
          input: () => {
            throw new Error('none')
          },
        }),
      ],
      'the schedule "a" is not usable: its input cannot be made: Error: none',
    ],
    [[{ name: 'tidy' } as never], 'the schedule "tidy" is not usable: it was not made by defineSchedule'],
  ])('$1', async (schedules, problem) => {
    const making = createEngine({ databaseUrl: inject('serverUrl'), schedules })
    await expect(making).rejects.toThrow(problem)
    const error = await making.catch((refusal: unknown) => refusal)
    expect(error).toMatchObject({ code: 'bad_definition' })
    if (!problem.endsWith('it is no number')) expect(englishIn(error)).toEqual([])
  })
})

test('a schedule fired by hand while its key is held makes nothing, and says which job holds it', async () => {
  const { clock, process, jobs, row } = await stage()
  const engine = await process(defineSchedule({ name: 'tidy', job: tidy, every: hours(1), options: { key: 'one' } }))
  await internalsOf(engine).schedule()
  const first = await engine.schedules.run('tidy')
  expect(first).toEqual({ id: expect.any(String), created: true })
  const madeAt = clock.now()
  await clock.advance(minutes(10))
  expect(await engine.schedules.run('tidy')).toEqual({ id: first.id, created: false })
  expect(await jobs()).toHaveLength(1)
  expect(await row()).toMatchObject({ lastJob: first.id, lastAt: madeAt })
})

test('a schedule fired by hand makes a job beside its recurrence, also where no process keeps it yet', async () => {
  const { clock, process, refs, jobs, row } = await stage()
  const engine = await process(everyHour())
  const { id } = await engine.schedules.run('tidy')
  expect(await refs()).toEqual(['tidy@01T12:00:00Z'])
  expect((await engine.schedules.list())[0]).toMatchObject({ nextAt: new Date('2030-01-01T13:00:00Z'), active: false })
  await internalsOf(engine).schedule()
  await clock.advance(minutes(10))
  const again = await engine.schedules.run('tidy')
  expect((await jobs()).map(job => job.id)).toEqual([id, again.id])
  expect(await row()).toMatchObject({
    nextAt: new Date('2030-01-01T13:00:00Z'),
    lastOccurrence: null,
    lastAt: clock.now(),
    lastJob: again.id,
  })
  await expect(engine.schedules.run('tidi')).rejects.toMatchObject({
    code: 'unknown_schedule',
    facts: { hint: { en: 'did you mean "tidy"?' } },
  })
})

describe('the loop', () => {
  test('fires each occurrence when it comes, and ends with the engine', async () => {
    const { clock, process, refs } = await stage()
    const engine = await process(everyHour({ recurrence: { every: minutes(5) } }))
    engine.watch()
    await until(() => clock.sleepers === 3)
    for (const occurrence of ['05', '10']) {
      await clock.advance(minutes(4.9))
      expect(await refs()).not.toContain(`tidy@01T12:${occurrence}:00Z`)
      await clock.advance(minutes(0.1))
      await until(async () => (await refs()).includes(`tidy@01T12:${occurrence}:00Z`))
    }
    expect(await refs()).toHaveLength(2)
    await engine.close()
    expect(clock.sleepers).toBe(0)
  })

  test('is not there without schedules', async () => {
    const { clock, process } = await stage()
    const engine = await process()
    engine.watch()
    await until(() => clock.sleepers >= 2)
    for (let i = 0; i < 5; i++) await internalsOf(engine).ping()
    expect(clock.sleepers).toBe(2)
  })

  test('runs on the system clock: what is due every second is worked on', async () => {
    const every = defineSchedule({ name: 'tick', job: tidy, every: seconds(1) })
    const { engine } = await liveEngine([], { schedules: [every] })
    await engine.work()
    await until(async () => (await engine.jobs.list({ state: 'succeeded' })).items.length >= 2)
    const occurrences = (await engine.jobs.list()).items.map(job => job.ref)
    expect(new Set(occurrences).size).toBe(occurrences.length)
  })
})
