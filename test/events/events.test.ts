/** `engine.events`: every event once and in order, from any position, whoever is slow and whatever is away. */
import { setMaxListeners } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { migrate } from '../../src/database/migrate.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import { RetomaError } from '../../src/errors/errors.ts'
import { EventFeed } from '../../src/events/event-feed.ts'
import { createEvents } from '../../src/events/events.ts'
import { placeAllEvents } from '../../src/events/sql/write-events.ts'
import {
  days,
  defineJob,
  doNotRetry,
  type EngineEvent,
  type EventsFilter,
  milliseconds,
  seconds,
  skip,
} from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { type TestEngine, testEngine, VirtualClock } from '../../src/testing/index.ts'
import { borrowDatabase, engineOf, engineWith, gate, until } from '../support/engine.ts'
import { brief, follow, isQuiet, sqlOf, take, tick } from '../support/events.ts'
import { faulty } from '../support/faulty-db.ts'
import { englishIn } from '../support/portuguese.ts'
import { newJob } from '../support/store.ts'

const good = defineJob({ kind: 'good', run: () => 'done' })
const bad = defineJob({ kind: 'bad', run: () => Promise.reject(doNotRetry(new Error('no'))) })
const none = defineJob({ kind: 'none', run: () => skip('nothing to do') })

describe("a job's stream", () => {
  test('tells its states and its progress, and ends after the final one', async () => {
    const begun = gate()
    const go = gate()
    const steps = defineJob({
      kind: 'steps',
      run: async ctx => {
        await ctx.progress({ done: 1, total: 2 })
        begun.open()
        await go.passed
      },
    })
    const t = await engineWith(steps)
    const { id } = await t.engine.enqueue(steps, undefined)
    const stream = follow(t.engine.events({ job: id }))
    await until(() => stream.seen.length === 1)
    const running = t.run()
    await begun.passed
    await until(async () => (await t.engine.job(id))?.progress !== null)
    await t.clock.advance(tick)
    go.open()
    await running
    await t.clock.advance(tick)
    await stream.ended
    expect(stream.brief()).toEqual(['null -> waiting', 'waiting -> running', 'progress', 'running -> succeeded'])
    expect(stream.seen[2]).toMatchObject({ jobId: id, data: { progress: { done: 1, total: 2 } } })
    expect(stream.seen.every(event => event.jobId === id && event.at instanceof Date)).toBe(true)
  })

  test('sees the end of one that ran and finished between two checks', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    const stream = follow(t.engine.events({ job: id }))
    await until(() => stream.seen.length === 1)
    await t.run()
    await t.clock.advance(tick)
    await stream.ended
    expect(stream.brief()).toEqual(['null -> waiting', 'waiting -> succeeded'])
  })

  test.each([
    [good, 'null -> succeeded', null],
    [bad, 'null -> failed', 'no'],
    [none, 'null -> skipped', 'nothing to do'],
  ])('of one that is over already tells that, with the reason, and ends: %#', async (job, found2, reason) => {
    const t = await engineWith(job)
    const { id } = await t.engine.enqueue(job, undefined)
    await t.run()
    const stream = follow(t.engine.events({ job: id }))
    await stream.ended
    expect(stream.brief()).toEqual([found2])
    expect(stream.seen[0]!.data).toMatchObject({ reason })
  })

  test('tells a failed end once, though it is stored and in the row as well', async () => {
    const t = await engineWith(bad)
    const { id } = await t.engine.enqueue(bad, undefined)
    const stream = follow(t.engine.events({ job: id }))
    await until(() => stream.seen.length === 1)
    await t.run()
    await t.clock.advance(tick)
    await stream.ended
    expect(stream.brief()).toEqual(['null -> waiting', 'running -> failed'])
  })

  test('tells the action before it ends with what that did', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    const other = await t.engine.enqueue(good, undefined)
    const stream = follow(t.engine.events({ job: id }))
    await until(() => stream.seen.length === 1)
    await t.engine.jobs.cancel(other.id)
    await t.engine.jobs.cancel(id)
    await t.clock.advance(tick)
    await stream.ended
    expect(stream.brief()).toEqual(['null -> waiting', 'action cancel', 'waiting -> cancelled'])
  })

  test('goes on after any of its events: the end is neither repeated nor missed', async () => {
    const t = await engineWith(bad)
    const { id } = await t.engine.enqueue(bad, undefined)
    await t.engine.jobs.cancel(id)
    await t.engine.jobs.retry(id)
    const before = t.engine.events({ job: id })
    const [first] = await take(t, before, 1)
    await before.return?.()
    await t.run()
    const whole = follow(t.engine.events({ job: id, after: first!.position }))
    await whole.ended
    expect(whole.brief()).toEqual(['running -> failed'])
    const after = follow(t.engine.events({ job: id, after: whole.seen[0]!.position }))
    await after.ended
    expect(after.seen).toEqual([])
    // Run again it is another story, which a reader that was done with the first one hears in full.
    await t.engine.jobs.retry(id)
    const again = t.engine.events({ job: id, after: whole.seen[0]!.position })
    expect((await take(t, again, 2)).map(brief)).toEqual(['action retry', 'failed -> waiting'])
    await again.return?.()
  })

  test('ends when the job is removed', async () => {
    const t = await engineOf({ jobs: [good], retention: seconds(1) })
    const { id } = await t.engine.enqueue(good, undefined, { delay: seconds(1) })
    const stream = follow(t.engine.events({ job: id }))
    await until(() => stream.seen.length === 1)
    const db = await sqlOf(t)
    await db(`delete from retoma.job where id = ${id}`)
    await t.clock.advance(tick)
    await stream.ended
    expect(stream.brief()).toEqual(['null -> waiting'])
  })
})

/** So many warnings that name no job, each with its number. */
const warnings = (from: number, to: number) =>
  `insert into retoma.event (at, type, data)
   select '2030-01-01', 'warning', jsonb_build_object('what', 'test', 'n', n) from generate_series(${from}, ${to}) n`
const numbers = (events: readonly EngineEvent[]) => events.map(event => (event.data as { n: number }).n)
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

describe('the stream of everything', () => {
  async function busy() {
    const t = await engineWith(good, bad)
    await t.engine.enqueueMany(bad, [undefined, undefined, undefined])
    await t.engine.enqueueMany(good, [undefined, undefined])
    const { id } = await t.engine.enqueue(good, undefined, { delay: days(1) })
    return {
      ...t,
      async go() {
        await t.engine.jobs.cancel(id)
        await t.run()
        await t.engine.queues.pause('default')
      },
    }
  }

  test('begins now, and tells exceptions and actions only', async () => {
    const t = await busy()
    await t.engine.queues.pause('default')
    await t.engine.queues.resume('default')
    const stream = t.engine.events()
    const first = take(t, stream, 5)
    await until(() => t.clock.sleepers > 0)
    await t.go()
    expect((await first).map(brief)).toEqual([
      'action cancel',
      'running -> failed',
      'running -> failed',
      'running -> failed',
      'action pause queue',
    ])
    await stream.return?.()
  })

  test('goes on after each of its events, in another process too, without a gap or a repeat', async () => {
    const t = await busy()
    const stream = t.engine.events()
    const all = take(t, stream, 5)
    await until(() => t.clock.sleepers > 0)
    await t.go()
    const events = await all
    await stream.return?.()
    const other = await testEngine({ databaseUrl: t.databaseUrl })
    onTestFinished(() => other.close())
    for (const [place, { position }] of events.entries()) {
      const later = follow(other.engine.events({ after: position }))
      await until(() => later.seen.length === 4 - place)
      expect(await isQuiet(other, later.seen)).toBe(true)
      expect(later.seen).toEqual(events.slice(place + 1))
      await other.engine.queues.pause('default')
    }
  })

  test('a commit that is late is shown when it comes, and no event is reported twice', async () => {
    const t = await engineWith(good)
    const db = openDb({ url: t.databaseUrl, log: silentLog, connections: 2 })
    onTestFinished(() => db.close())
    const stream = follow(t.engine.events())
    await until(() => t.clock.sleepers > 0)
    await db.transaction(async late => {
      await late.query(warnings(1, 1))
      await db.run({ name: '', text: warnings(2, 2) }, [])
      await t.clock.advance(tick)
      await until(() => stream.seen.length === 1)
    })
    await t.clock.advance(seconds(1))
    expect(numbers(stream.seen)).toEqual([2, 1])
    expect(await isQuiet(t, stream.seen)).toBe(true)
  })

  test('what nobody listened to is not reported to one who begins now', async () => {
    const t = await engineWith(good)
    const sql = await sqlOf(t)
    await sql(warnings(1, 5000))
    const stream = follow(t.engine.events())
    await until(() => t.clock.sleepers > 0)
    await sql(warnings(5001, 5001))
    await t.clock.advance(tick)
    expect(numbers(stream.seen)).toEqual([5001])
  })

  test('more than a bite at once comes whole and in order', async () => {
    const t = await engineWith(good)
    const stream = follow(t.engine.events())
    await until(() => t.clock.sleepers > 0)
    await (await sqlOf(t))(warnings(1, 4321))
    await t.clock.advance(seconds(1))
    await until(() => stream.seen.length >= 4321)
    expect(numbers(stream.seen)).toEqual(upTo(4321))
  })
})

describe('reset:', () => {
  test('one whose position is older than what is kept is named as such, and goes on from now', async () => {
    const t = await engineOf({ jobs: [good], retention: days(10) })
    const stream = t.engine.events()
    const taken = take(t, stream, 2)
    await until(() => t.clock.sleepers > 0)
    for (let n = 0; n < 3; n++) {
      await t.engine.queues.pause('default')
      await t.engine.queues.resume('default')
    }
    const [first, second] = await taken
    await stream.return?.()
    await t.clock.advance(days(11))
    await t.clean()
    await t.engine.queues.pause('default')
    for (const after of [first!.position, second!.position]) {
      const late = t.engine.events({ after })
      expect((await take(t, late, 1)).map(brief)).toEqual(['reset'])
      const next = take(t, late, 1)
      await t.engine.queues.resume('default')
      await t.engine.queues.pause('default')
      const [found2] = await next
      expect(found2).toMatchObject({ type: 'action' })
      await late.return?.()
    }
  })

  test('so is one whose position was never given here: of another database, or from before a restore', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    const stream = t.engine.events({ job: id, after: '999999999' })
    const found2 = await take(t, stream, 2)
    expect(found2.map(brief)).toEqual(['reset', 'null -> waiting'])
    await stream.return?.()
  })

  test('a position at the very edge of what is kept is no reason for one', async () => {
    const t = await engineOf({ jobs: [good], retention: days(10) })
    const sql = await sqlOf(t)
    await sql(warnings(1, 3))
    await t.clock.advance(days(11))
    await t.clean()
    const [{ seq } = { seq: '' }] = await sql<{ seq: string }>(`select seq from retoma.event_pruned`)
    await sql(warnings(4, 4))
    const stream = t.engine.events({ after: seq })
    const [first] = await take(t, stream, 1)
    expect(numbers([first!])).toEqual([4])
    await stream.return?.()
  })
})

/** The method on a database with faults put in between. */
async function faultyEvents() {
  const database = await borrowDatabase()
  const clock = new VirtualClock()
  const real = openDb({ url: database.url, log: silentLog, clock })
  await migrate(real)
  const db = faulty(real)
  const eventFeed = new EventFeed({ db, clock, log: silentLog })
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  onTestFinished(async () => {
    closing.abort()
    await eventFeed.stop()
    await real.close()
    await database.giveBack()
  })
  const { events } = createEvents({ db, clock, eventFeed, closing: closing.signal })
  const sql = (text: string) => real.run({ name: '', text }, [])
  const rounds = () => db.asked.filter(name => name === 'event_poll').length
  /** So many that listen by now; what they heard on the way there is forgotten. */
  const listeners = async (count: number) => {
    const readers = upTo(count).map(() => follow(events()))
    while (readers.some(({ seen }) => seen.length === 0)) {
      await sql(warnings(0, 0))
      await clock.advance(tick)
    }
    for (const { seen } of readers) seen.length = 0
    return readers
  }
  return { db, clock, feed: eventFeed, events, sql, rounds, listeners }
}

const away = () => new RetomaError('database_unreachable', { address: 'here', problem: 'gone', outcome: '' })

describe('many readers, slow readers, no readers:', () => {
  test('a crowd is shown in turns, each everything once; one that comes back meanwhile is not reported again', async () => {
    const t = await faultyEvents()
    await t.sql(warnings(1, 3))
    await placeAllEvents(t.db)
    const heard = upTo(120).map(() => [] as number[])
    let turns = 0
    const listeners = heard.map(positions => ({
      of: {},
      take: ({ events }: { events: readonly { seq: number }[] }) => {
        turns++
        positions.push(...events.map(each => each.seq))
      },
      fail: () => {},
    }))
    for (const each of listeners) expect(t.feed.join(each, 0)).toBe(true)
    await until(() => turns === 50)
    // The last listener leaves before its turn, and joins again at the frontier: it has already read the events.
    const last = listeners.at(-1)!
    t.feed.leave(last)
    expect(t.feed.join(last, t.feed.frontier)).toBe(true)
    await until(() => t.clock.sleepers > 0)
    await t.clock.advance(milliseconds(30))
    expect(heard.slice(0, -1).map(each => each.length)).toEqual(upTo(119).map(() => 3))
    expect(heard.at(-1)).toEqual([])
  })

  test('one look every 250 ms, however many listen', async () => {
    const t = await faultyEvents()
    const readers = await t.listeners(50)
    const before = t.rounds()
    await t.clock.advance(seconds(5))
    expect(t.rounds() - before).toBe(20)
    await t.sql(warnings(1, 10))
    await t.clock.advance(tick)
    for (const { seen } of readers) expect(numbers(seen)).toEqual(upTo(10))
    // The event object is created once for all readers, so that it is serialised once.
    for (const { seen } of readers) expect(seen[3]).toBe(readers[0]!.seen[3])
  })

  test('a reader that is slow holds nobody up, holds no more than it may, and still gets all in order', async () => {
    const t = await faultyEvents()
    const [quick] = (await t.listeners(1)) as [ReturnType<typeof follow>]
    const slow = t.events()
    const first = slow.next()
    await until(() => t.clock.sleepers === 1 && t.db.asked.at(-1) === 'event_poll')
    await t.sql(warnings(1, 1))
    await t.clock.advance(tick)
    const { value } = await first
    await t.sql(warnings(2, 6000))
    await t.clock.advance(tick)
    await until(() => quick.seen.length === 6000)
    expect(t.db.asked).not.toContain('event_page')
    const rest: EngineEvent[] = [value!]
    while (rest.length < 6000) rest.push((await slow.next()).value!)
    expect(t.db.asked.filter(name => name === 'event_page')).toHaveLength(12)
    expect(numbers(rest)).toEqual(upTo(6000))
    // And it is with the others again.
    const next = slow.next()
    await until(() => t.clock.sleepers === 1)
    await t.sql(warnings(6001, 6001))
    await t.clock.advance(tick)
    expect(numbers([(await next).value!])).toEqual([6001])
    expect(quick.seen).toHaveLength(6001)
  })

  test('one that reads up from an old position while others are served joins them without a gap', async () => {
    const t = await faultyEvents()
    const early = follow(t.events())
    await until(() => t.clock.sleepers === 1)
    await t.sql(warnings(1, 1200))
    await t.clock.advance(tick)
    await until(() => early.seen.length === 1200)
    const held = gate()
    t.db.hold('event_page', 'after', held.passed)
    const asked = t.db.askedFor('event_page')
    const late = follow(t.events({ after: early.seen[1099]!.position }))
    await asked
    await t.sql(warnings(1201, 1300))
    await t.clock.advance(tick)
    await until(() => early.seen.length === 1300)
    held.open()
    await until(() => late.seen.length >= 100)
    await t.sql(warnings(1301, 1301))
    await t.clock.advance(tick)
    await until(() => late.seen.at(-1) !== undefined && numbers(late.seen).at(-1) === 1301)
    expect(numbers(late.seen)).toEqual(upTo(1301).slice(1100))
  })

  test('one that is further than the others hears nothing again when they come to it', async () => {
    const t = await faultyEvents()
    const [early] = (await t.listeners(1)) as [ReturnType<typeof follow>]
    await t.sql(warnings(1, 5))
    await placeAllEvents(t.db)
    const late = follow(t.events({ after: '0' }))
    await until(() => numbers(late.seen).at(-1) === 5)
    await t.clock.advance(tick)
    await until(() => early.seen.length === 5)
    await t.clock.advance(tick)
    expect(numbers(late.seen).filter(n => n > 0)).toEqual(upTo(5))
  })

  test('one that comes while a check is on its way is not reported by it that its job is gone', async () => {
    const t = await faultyEvents()
    await t.listeners(1)
    const [job] = await enqueueJobs(t.db.run, [newJob()], t.clock.instant())
    const held = gate()
    t.db.hold('event_poll', 'after', held.passed)
    const asked = t.db.askedFor('event_poll')
    const moved = t.clock.advance(tick)
    await asked
    const bounds = t.db.askedFor('event_bounds')
    const stream = follow(t.events({ job: job!.id }))
    await bounds
    // By when this was answered so often, so was that.
    for (let trip = 0; trip < 10; trip++) await t.sql('select 1')
    held.open()
    await moved
    await t.clock.advance(tick)
    expect(stream.brief()).toEqual(['null -> waiting'])
  })

  test('one that reads up while the newest events are removed joins the others all the same', async () => {
    const t = await faultyEvents()
    const [early] = (await t.listeners(1)) as [ReturnType<typeof follow>]
    await t.sql(warnings(1, 10))
    await t.clock.advance(tick)
    await until(() => early.seen.length === 10)
    await t.sql(`delete from retoma.event where (data ->> 'n')::int > 5`)
    const late = follow(t.events({ after: early.seen[2]!.position }))
    await until(() => late.seen.length === 2)
    await t.clock.advance(tick)
    expect(t.db.asked.filter(name => name === 'event_page')).toHaveLength(1)
    await t.sql(warnings(11, 11))
    await t.clock.advance(tick)
    expect(numbers(late.seen)).toEqual([4, 5, 11])
  })

  test('nobody listens: nothing is asked, and a stream that was never begun asks nothing either', async () => {
    const t = await faultyEvents()
    t.events()
    const reader = t.events()
    const next = reader.next()
    await until(() => t.clock.sleepers === 1)
    await reader.return?.()
    expect(await next).toEqual({ done: true, value: undefined })
    await t.feed.stop()
    const before = t.db.asked.length
    await t.clock.advance(seconds(5))
    expect(t.db.asked).toHaveLength(before)
    expect(t.clock.sleepers).toBe(0)
  })

  test('one who comes while the last check of those before is on its way misses nothing', async () => {
    const t = await faultyEvents()
    const before = t.events()
    const next = before.next()
    await until(() => t.clock.sleepers === 1)
    const held = gate()
    t.db.hold('event_poll', 'after', held.passed)
    const asked = t.db.askedFor('event_poll')
    const moved = t.clock.advance(tick)
    await asked
    await before.return?.()
    await next
    await t.sql(warnings(1, 1))
    const after = follow(t.events())
    await until(() => t.rounds() >= 3)
    await t.sql(warnings(2, 2))
    held.open()
    await moved
    await t.clock.advance(seconds(1))
    expect(numbers(after.seen)).toEqual([2])
  })
})

describe('a database that is away is waited for, without a gap or a repeat:', () => {
  test.each(['event_assign_seq', 'event_bounds', 'event_page', 'event_poll'])('%s', async statement => {
    const t = await faultyEvents()
    const before = t.events()
    const first = before.next()
    await until(() => t.clock.sleepers === 1)
    await t.sql(warnings(1, 1))
    await t.clock.advance(tick)
    const { value } = await first
    for (const when of ['before', 'after'] as const) t.db.fail(statement, when, away(), { times: 2 })
    const after = statement === 'event_assign_seq' ? {} : { after: value!.position }
    const reader = follow(t.events(after))
    await t.clock.advance(seconds(2))
    await t.sql(warnings(2, 3))
    await t.clock.advance(seconds(5))
    expect(numbers(reader.seen)).toEqual([2, 3])
    await before.return?.()
  })

  test('an error that does not pass is reported to every reader', async () => {
    const t = await faultyEvents()
    const readers = await t.listeners(3)
    const ends = readers.map(({ ended }) => ended.catch((error: unknown) => error))
    const error = new RetomaError('database_no_rights', { user: 'u', database: 'd', problem: 'p', grant: 'g' })
    t.db.fail('event_poll', 'before', error)
    await t.clock.advance(tick)
    expect(await Promise.all(ends)).toEqual([error, error, error])
    await t.feed.stop()
    expect(t.clock.sleepers).toBe(0)
  })
})

describe('a stream ends cleanly', () => {
  test.each<[string, (t: TestEngine, given: { abort: AbortController; stream: AsyncIterator<unknown> }) => unknown]>([
    ['by return(), while it waits', (_, { stream }) => stream.return?.()],
    ['by its signal', (_, { abort }) => abort.abort()],
    ['with its engine', t => t.engine.close()],
  ])('%s', async (_, end) => {
    const t = await engineWith(good)
    const abort = new AbortController()
    const stream = t.engine.events({ signal: abort.signal })
    const next = stream.next()
    await until(() => t.clock.sleepers === 1)
    await end(t, { abort, stream })
    expect(await next).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await until(() => t.clock.sleepers === 0)
  })

  test('by break', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    for await (const event of t.engine.events({ job: id })) {
      expect(brief(event)).toBe('null -> waiting')
      break
    }
    await until(() => t.clock.sleepers === 0)
  })

  test('before it begins, when its signal has aborted already', async () => {
    const t = await engineWith(good)
    const stream = follow(t.engine.events({ signal: AbortSignal.abort() }))
    await stream.ended
    expect(stream.seen).toEqual([])
  })

  test('and a closed engine begins none', async () => {
    const t = await engineWith(good)
    await t.engine.close()
    expect(() => t.engine.events()).toThrow('engine_closed')
  })
})

describe('a stream that is opened', () => {
  test('says that something comes, and keeps it for who reads', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    const stream = t.engine.events({ job: id })
    expect(await stream.opened()).toBe(true)
    expect(await stream.opened()).toBe(true)
    const { value } = await stream.next()
    expect(brief(value!)).toBe('null -> waiting')
    const quiet = t.engine.events({ job: id, after: value!.position })
    expect(await quiet.opened()).toBe(true)
    await Promise.all([stream.return?.(), quiet.return?.()])
  })

  test('says that nothing comes where all is over and reported', async () => {
    const t = await engineWith(good)
    const { id } = await t.engine.enqueue(good, undefined)
    await t.run()
    const stream = t.engine.events({ job: id })
    expect(await stream.opened()).toBe(true)
    const { value } = await stream.next()
    const after = t.engine.events({ job: id, after: value!.position })
    expect(await after.opened()).toBe(false)
    expect(await after.next()).toEqual({ done: true, value: undefined })
  })

  test('refuses what is not there', async () => {
    const t = await engineWith(good)
    await expect(t.engine.events({ job: '123456789' }).opened()).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('what makes no sense is refused:', () => {
  test.each<[string, unknown, unknown]>([
    ['both', { job: '1', batch: '2' }, { code: 'bad_option', facts: { option: 'batch' } }],
    ['a cursor that is none', { after: 'x' }, { code: 'bad_option', facts: { option: 'after' } }],
    ['a cursor that is a number', { after: 7 }, { code: 'bad_option', facts: { option: 'after' } }],
    ['a typo', { jobs: '1' }, { code: 'bad_option', facts: { option: 'jobs' } }],
    ['a signal that is none', { signal: {} }, { code: 'bad_option', facts: { option: 'signal' } }],
    ['no object', null, { code: 'bad_option' }],
    ['a job that is no id', { job: 'x' }, { code: 'not_found', facts: { id: 'x' } }],
    ['a batch that is no id', { batch: 7 }, { code: 'not_found', facts: { id: '7' } }],
  ])('%s', async (_, filter, expected) => {
    const t = await engineWith(good)
    let error: unknown
    try {
      t.engine.events(filter as EventsFilter)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toMatchObject(expected as object)
    expect(englishIn(error)).toEqual([])
  })

  test.each(['job', 'batch'])('a %s that is not there', async what => {
    const t = await engineWith(good)
    const stream = t.engine.events({ [what]: '123456789' })
    await expect(stream.next()).rejects.toMatchObject({ code: 'not_found', facts: { id: '123456789' } })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(t.clock.sleepers).toBe(0)
  })
})
