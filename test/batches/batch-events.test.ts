/** The stream of a batch: failures, actions and progress, until the end of the batch. */
import { describe, expect, test } from 'vitest'
import {
  days,
  defineBatch,
  defineJob,
  doNotRetry,
  type EngineEvent,
  milliseconds,
  seconds,
  snooze,
} from '../../src/index.ts'
import { noteBatchActions, noteBatchStates } from '../../src/jobs/sql/transition.ts'
import { engineOf, gate, until } from '../support/engine.ts'
import { brief, follow, isQuiet, sqlOf, take, tick } from '../support/events.ts'

const check = defineJob<{ code: string }>({
  kind: 'check',
  run: ({ attempt }, { code }) => {
    if (code === 'later' && attempt === 1) return snooze(days(1))
    if (code.startsWith('bad')) throw doNotRetry(new Error(`${code} is no good`))
    return code
  },
})
const checks = defineBatch({ name: 'checks', job: check })
const strict = defineBatch({ name: 'strict', job: check, stopAfter: { failures: 1 } })

async function submitted(...codes: string[]) {
  const t = await engineOf({ batches: [checks] })
  const { id } = await t.engine.submit(
    checks,
    codes.map(code => ({ code })),
    { ref: item => item.code },
  )
  const events = (after?: string) => t.engine.events({ batch: id, after })
  return { ...t, id, events, sql: await sqlOf(t) }
}

const counts = (event: EngineEvent | undefined) => {
  const { total, succeeded, failed } = event!.data as Record<string, number>
  return [total, succeeded, failed]
}

test('tells what failed in it, how far it is and that it is over, and ends', async () => {
  const t = await submitted('a', 'bad1', 'b', 'bad2')
  const stream = follow(t.events())
  await until(() => stream.seen.length === 2)
  await t.run()
  await t.clock.advance(tick)
  await stream.ended
  expect(stream.brief().toSorted()).toEqual(
    [
      'null -> running',
      'progress',
      'item bad1 failed',
      'item bad2 failed',
      'progress',
      'running -> completed_with_failures',
    ].toSorted(),
  )
  expect(brief(stream.seen.at(-1)!)).toBe('running -> completed_with_failures')
  expect(counts(stream.seen[1])).toEqual([4, 0, 0])
  expect(counts(stream.seen.findLast(({ type }) => type === 'progress'))).toEqual([4, 2, 2])
  const item = stream.seen.find(({ type }) => type === 'item')!
  expect(item).toMatchObject({ batchId: t.id, data: { attempt: 1, reason: 'bad1 is no good' } })
  expect((await t.engine.job(item.jobId!))?.ref).toBe('bad1')
})

test('goes on after each of its events without a gap, and repeats none, its progress included', async () => {
  const t = await submitted('a', 'bad1', 'b', 'bad2')
  const [first] = await take(t, t.events(), 1)
  await t.run()
  const rest = follow(t.events(first!.position))
  await rest.ended
  expect(rest.brief()).toEqual([
    'progress',
    'item bad1 failed',
    'item bad2 failed',
    'running -> completed_with_failures',
  ])
  for (const [place, { position }] of rest.seen.entries()) {
    const later = follow(t.events(position))
    await later.ended
    expect(later.brief()).toEqual(rest.brief().slice(place + 1))
  }
})

test('an item of it is reported to its own stream as its state, and only what is of the batch to the batch', async () => {
  const t = await submitted('bad1')
  const { items } = await t.engine.batches.items(t.id)
  await t.engine.enqueue(check, { code: 'bad elsewhere' })
  await t.run()
  const [job] = items
  const stream = follow(t.engine.events({ job: job!.id, after: '0' }))
  await stream.ended
  expect(stream.brief()).toEqual(['running -> failed'])
  expect(stream.seen[0]).toMatchObject({ jobId: job!.id, batchId: t.id, data: { ref: 'bad1' } })
  const batch = follow(t.events('0'))
  await batch.ended
  expect(batch.brief().filter(found2 => found2.startsWith('item'))).toEqual(['item bad1 failed'])
})

describe('progress', () => {
  const more = (id: string) =>
    `insert into retoma.batch_count (batch_id, shard, succeeded) values (${id}, 3, 1)
     on conflict (batch_id, shard) do update set succeeded = batch_count.succeeded + 1`

  test('comes at most four times a second, only when something changed, and with the newest counts', async () => {
    const t = await submitted(...Array.from({ length: 100 }, (_, n) => `a${n}`))
    const stream = follow(t.events())
    await until(() => stream.seen.length === 2)
    for (let n = 0; n < 40; n++) {
      await t.sql(more(t.id))
      // A new reader makes the feed poll at once; for the other readers the poll is early.
      if (n % 8 === 0) await take(t, t.engine.events({ batch: t.id }), 1)
      await t.clock.advance(milliseconds(50))
    }
    const found2 = stream.seen.slice(2)
    expect(found2.length).toBeLessThanOrEqual(13)
    expect(found2.length).toBeGreaterThan(5)
    for (const [place, event] of found2.entries()) {
      if (place === 0) continue
      expect(event.at.getTime() - found2[place - 1]!.at.getTime()).toBeGreaterThanOrEqual(250)
    }
    await t.clock.advance(tick)
    expect(counts(stream.seen.at(-1))).toEqual([100, 40, 0])
    expect(await isQuiet(t, stream.seen)).toBe(true)
  })

  test('of a reader that is slow is reported once, as it is by then', async () => {
    const t = await submitted('a', 'b')
    const stream = t.events()
    await take(t, stream, 2)
    for (let n = 0; n < 5; n++) {
      await t.sql(more(t.id))
      await t.clock.advance(tick)
    }
    const { value } = await stream.next()
    expect(counts(value)).toEqual([2, 5, 0])
    await stream.return?.()
  })

  test('has its rate and the time left', async () => {
    const t = await submitted(...Array.from({ length: 100 }, (_, n) => `a${n}`))
    const at = (ago: number) => new Date(t.clock.now().getTime() - ago * 1000).toISOString()
    await t.sql(
      `update retoma.batch set throughput_at = array['${at(20)}', '${at(10)}']::timestamptz[], throughput_done = array[0, 10] where id = ${t.id}`,
    )
    await t.sql(`insert into retoma.batch_count (batch_id, shard, succeeded) values (${t.id}, 3, 40)`)
    const [, progress] = await take(t, t.events(), 2)
    expect(progress).toMatchObject({ type: 'progress', data: { succeeded: 40, rate: 2, etaSeconds: 30 } })
  })
})

test('a state that is stored and in the row as well is reported once', async () => {
  const t = await submitted('a')
  const stream = follow(t.events())
  await until(() => stream.seen.length === 2)
  const move = (to: string, held: boolean) =>
    `moved as (
       update retoma.batch b set state = '${to}', claims_blocked = ${held}, reason = '{"code": "stop_after"}' from retoma.batch was
       where b.id = ${t.id} and was.id = b.id
       returning b.id, was.state as was, b.state, b.reason
     )`
  await t.sql(`with ${move('paused', true)}, ${noteBatchStates('moved', 'now()')} select id from moved`)
  await t.clock.advance(seconds(1))
  expect(stream.brief().slice(2)).toEqual(['running -> paused'])
  expect(stream.seen[2]!.data).toMatchObject({ reason: 'stop_after' })
  // An action is shown as such, and the state with it.
  await t.sql(
    `with ${move('running', false)}, ${noteBatchActions('resume', 'moved', 'now()', 'null')} select id from moved`,
  )
  await t.clock.advance(seconds(1))
  expect(stream.brief().slice(3)).toEqual(['action resume', 'paused -> running'])
})

test('one that is cancelled is over when its items are, too', async () => {
  const t = await submitted('a', 'b')
  const stream = follow(t.events())
  await until(() => stream.seen.length === 2)
  await t.sql(
    `update retoma.batch set state = 'cancelled', claims_blocked = true, finished_at = now(), cascade = 'cancel' where id = ${t.id}`,
  )
  await t.clock.advance(seconds(1))
  expect(stream.brief().slice(2)).toEqual(['running -> cancelled'])
  await t.tick()
  await t.clock.advance(tick)
  await stream.ended
  const last = stream.seen.at(-1)!
  expect(last).toMatchObject({ type: 'progress', data: { cancelled: 2 } })
})

test('one that is removed takes its events with it, and those of its items', async () => {
  const t = await submitted('a', 'bad1')
  await t.sql(`insert into retoma.event (at, type, batch_id, data) values (now(), 'action', ${t.id}, '{}')`)
  await t.engine.enqueue(check, { code: 'bad elsewhere' })
  await t.run()
  await t.clock.advance(days(89))
  await t.sql(`update retoma.batch set finished_at = finished_at - interval '2 days'`)
  await t.clean()
  await t.tick()
  expect(await t.engine.batch(t.id)).toBeNull()
  expect(await t.sql(`select data ->> 'reason' as reason from retoma.event`)).toEqual([
    { reason: 'bad elsewhere is no good' },
  ])
})

test('an action on it, and what the engine does to it, is stored once', async () => {
  const t = await engineOf({ batches: [strict] })
  const sql = await sqlOf(t)
  const { id } = await t.engine.submit(strict, [{ code: 'later' }, { code: 'bad1' }])
  const twice = async (actionName: () => Promise<unknown>) => {
    await actionName()
    await actionName().catch(() => {})
  }
  await twice(() => t.engine.batches.pause(id))
  await twice(() => t.engine.batches.resume(id))
  await t.run()
  await t.engine.batches.resume(id)
  await t.clock.advance(days(1))
  await t.run()
  await t.engine.batches.retryFailed(id)
  await twice(() => t.engine.batches.cancel(id))
  const rows = await sql<{ type: string; data: Record<string, string> }>(
    `select type, data from retoma.event where batch_id = ${id} and job_id is null order by id`,
  )
  expect(rows.map(({ type, data: { what, from, to, reason } }) => [type, what ?? reason, from, to])).toEqual([
    ['action', 'pause', 'running', 'paused'],
    ['action', 'resume', 'paused', 'running'],
    ['state', 'stop_after', 'running', 'paused'],
    ['action', 'resume', 'paused', 'running'],
    ['state', null, 'running', 'completed_with_failures'],
    ['action', 'retry failed', 'completed_with_failures', 'completed_with_failures'],
    ['state', null, 'completed_with_failures', 'running'],
    ['action', 'cancel', 'running', 'cancelled'],
  ])
})

test('an item that is run again opens its batch anew, and that is reported', async () => {
  const t = await submitted('bad1')
  await t.run()
  const { items } = await t.engine.batches.items(t.id)
  const after = follow(t.events())
  await after.ended
  await t.engine.jobs.retry(items[0]!.id)
  const stream = t.events(after.seen.at(-1)!.position)
  const found2 = (await take(t, stream, 3)).map(brief)
  expect(found2.toSorted()).toEqual(['action retry', 'completed_with_failures -> running', 'progress'])
})

describe('its states are a chain, each reported once and in order,', () => {
  const stored = (found2: readonly EngineEvent[]) => found2.map(brief).filter(each => each !== 'progress')
  const states = (found2: readonly string[]) => found2.filter(each => each.includes(' -> '))
  const whole = [
    'null -> submitting',
    'submitting -> running',
    'running -> paused',
    'paused -> running',
    'running -> paused',
    'paused -> running',
    'running -> succeeded',
  ]

  /** Events of a batch during its submit, and of the actions afterwards. */
  async function seenEarly() {
    const t = await engineOf({ batches: [checks] })
    const came = gate()
    const go = gate()
    async function* items() {
      yield { code: 'a' }
      came.open()
      await go.passed
    }
    const submitting = t.engine.submit(checks, items(), { key: 'k' })
    await came.passed
    const sql = await sqlOf(t)
    const id = String((await sql<{ id: string }>('select id from retoma.batch'))[0]!.id)
    const act = async () => {
      for (let twice = 0; twice < 2; twice++) {
        await t.engine.batches.pause(id)
        await t.engine.batches.resume(id)
      }
    }
    const submitted = async () => {
      go.open()
      await submitting
    }
    return { ...t, id, events: (after?: string) => t.engine.events({ batch: id, after }), submitted, act }
  }

  test('also those that came and went between two checks', async () => {
    const t = await seenEarly()
    const stream = follow(t.events())
    await until(() => stream.seen.length === 2)
    await t.submitted()
    await t.act()
    await t.run()
    await t.clock.advance(seconds(1))
    await stream.ended
    expect(states(stream.brief())).toEqual(whole)
    expect(stream.brief().filter(found2 => found2.startsWith('action'))).toEqual([
      'action pause',
      'action resume',
      'action pause',
      'action resume',
    ])
  })

  test('whichever event its reader goes away after, and comes back', async () => {
    const t = await seenEarly()
    const found2 = await take(t, t.events(), 1)
    await t.submitted()
    await t.act()
    await t.run()
    // The reader takes one event at a time and disconnects after each event.
    for (;;) {
      const stream = t.events(found2.at(-1)!.position)
      const [next] = await take(t, stream, 1)
      await stream.return?.()
      if (next === undefined) break
      found2.push(next)
    }
    expect(states(found2.map(brief))).toEqual(whole)
    expect(found2.filter(({ type }) => type === 'action')).toHaveLength(4)
    for (const [place, { position }] of found2.entries()) {
      const rest = follow(t.events(position))
      await rest.ended
      expect(stored(rest.seen)).toEqual(stored(found2.slice(place + 1)))
    }
  })

  test('and a change by an action says so', async () => {
    const t = await submitted('a')
    await t.engine.batches.pause(t.id)
    const found2 = await take(t, t.events('0'), 3)
    expect(found2.map(brief)).toEqual(['progress', 'action pause', 'running -> paused'])
    expect(found2[2]).toMatchObject({ jobId: null, batchId: t.id, data: { reason: 'person' } })
  })
})

test('says of an item that failed how often it has', async () => {
  const flaky = defineJob<string>({
    kind: 'flaky',
    maxAttempts: 2,
    backoff: { first: seconds(1) },
    run: () => Promise.reject(new Error('no')),
  })
  const flakies = defineBatch({ name: 'flakies', job: flaky })
  const t = await engineOf({ batches: [flakies] })
  const { id } = await t.engine.submit(flakies, ['x'])
  await t.run()
  await t.clock.advance(seconds(2))
  await t.run()
  const stream = follow(t.engine.events({ batch: id, after: '0' }))
  await stream.ended
  const item = stream.seen.find(({ type }) => type === 'item')
  expect(item).toMatchObject({ data: { state: 'failed', attempt: 2, failures: 2 } })
})

test('knows how long it has made no progress', async () => {
  const t = await submitted('a', 'later')
  const stream = t.events()
  expect(stream.idleSeconds()).toBeNull()
  await take(t, stream, 2)
  await t.clock.advance(seconds(10))
  await t.run()
  await t.clock.advance(seconds(30))
  expect(stream.idleSeconds()).toBeCloseTo(30, 0)
  await stream.return?.()
})
