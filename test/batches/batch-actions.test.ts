/** Every action in every state of a batch on a real database, against the table the docs are printed from. */

import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type BatchState, batchStates, batchTransitions } from '../../src/batches/model/batch-state.ts'
import { stallBatch } from '../../src/batches/sql/batch-actions.ts'
import { finishBatches } from '../../src/batches/sql/batch-finish.ts'
import { openDb } from '../../src/database/db.ts'
import { internalsOf } from '../../src/engine/internals.ts'
import { defineBatch, defineJob, doNotRetry, isRetomaError, seconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { auditBatches } from '../support/batches.ts'
import { engineOf, until } from '../support/engine.ts'

/** 0 succeeds, 1 fails, 2 is for later. */
const work = defineJob<number>({
  kind: 'work',
  queue: 'q',
  run: (_, n) => {
    if (n === 1) throw doNotRetry('no')
    return n
  },
})
const define = (maxResumes: number) => defineBatch({ name: 'b', job: work, maxResumes })
const later = { each: (n: number) => (n === 2 ? { delay: seconds(60) } : {}) }
const stalled = { code: 'no_progress' }

async function world() {
  const made = await engineOf({ jobs: [work] })
  const db = openDb({ url: made.databaseUrl, log: silentLog, connections: 2 })
  return { ...made, db, sql: <T>(text: string, values: unknown[] = []) => db.run<T>({ name: '', text }, values) }
}
type World = Awaited<ReturnType<typeof world>>

/** A batch of three items in a given state: one succeeded, one failed, one waiting, if the state allows. */
async function batchIn(state: BatchState, { engine, run, db, clock }: World): Promise<string> {
  const submit = async (items: number[], maxResumes = 3) => (await engine.submit(define(maxResumes), items, later)).id
  switch (state) {
    case 'submitting': {
      async function* broken() {
        yield* [0, 1, 2]
        await engine.batches.list()
        throw new Error('gone')
      }
      const half = async function* () {
        for (let n = 0; n < 1000; n++) yield n < 3 ? n : 0
        yield* broken()
      }
      await engine.submit(define(3), half(), later).catch(() => {})
      await run()
      return (await engine.batches.list()).items[0]!.id
    }
    case 'waiting':
      return submit([2])
    case 'running': {
      const id = await submit([0, 1, 2])
      await run()
      return id
    }
    case 'paused': {
      const id = await batchIn('running', { engine, run, db, clock } as World)
      await engine.batches.pause(id)
      return id
    }
    case 'stalled': {
      const id = await batchIn('running', { engine, run, db, clock } as World)
      await stallBatch(db, id, stalled, clock.instant())
      return id
    }
    case 'succeeded': {
      const id = await submit([0])
      await run()
      return id
    }
    case 'completed_with_failures': {
      const id = await submit([0, 1])
      await run()
      return id
    }
    case 'failed': {
      const id = await submit([0, 1, 2], 0)
      await run()
      await stallBatch(db, id, stalled, clock.instant())
      return id
    }
    case 'cancelled': {
      const id = await batchIn('running', { engine, run, db, clock } as World)
      await engine.batches.cancel(id)
      return id
    }
  }
}

const actions: Record<string, (id: string, world: World) => Promise<unknown>> = {
  pause: (id, { engine }) => engine.batches.pause(id),
  resume: (id, { engine }) => engine.batches.resume(id),
  'retry failed': (id, { engine }) => engine.batches.retryFailed(id),
  cancel: (id, { engine }) => engine.batches.cancel(id),
}

const refusals: Record<string, Partial<Record<BatchState, string>>> = {
  pause: {
    stalled: 'batch_state',
    succeeded: 'batch_state',
    completed_with_failures: 'batch_state',
    failed: 'batch_state',
    cancelled: 'batch_cancelled',
  },
  resume: { failed: 'resumes_spent', cancelled: 'batch_cancelled' },
  'retry failed': { cancelled: 'batch_cancelled' },
  cancel: { succeeded: 'batch_state', completed_with_failures: 'batch_state', failed: 'batch_state' },
}

test('every action of a person is tried, and no other', () => {
  const names = batchTransitions.filter(way => way.by === 'person').map(way => way.name)
  expect(Object.keys(actions).sort()).toEqual([...new Set(names)].sort())
})

describe.each(batchStates)('a batch that is %s', from => {
  test.each(Object.keys(actions))('%s does what the table says, and repeated changes nothing more', async action => {
    const here = await world()
    try {
      const id = await batchIn(from, here)
      expect((await here.engine.batch(id))!.state).toBe(from)
      const way = batchTransitions.find(each => each.name === action && each.from.includes(from))
      const act = () => actions[action]!(id, here).catch(error => (isRetomaError(error) ? error.code : error))
      const answer = await act()
      const after = (await here.engine.batch(id))!
      if (way === undefined) {
        expect(answer).toBe(refusals[action]![from])
        expect(after.state).toBe(from)
      } else {
        const to = way.to === 'the same' ? from : way.to
        // Whose list is not over goes on submitting; of which nothing has begun is waiting.
        const expected = from === 'submitting' && to === 'running' ? 'submitting' : to
        expect(after.state).toBe(expected)
        expect(answer).toMatchObject({ id, state: expected })
        const again = await act()
        expect(again).toMatchObject({ id, changed: false })
        expect((await here.engine.batch(id))!.state).toBe(expected)
      }
      expect(await auditBatches(here.databaseUrl)).toEqual([])
    } finally {
      await here.db.close()
    }
  })

  test('the watchdog and the engine move it only as the table says', async () => {
    const here = await world()
    try {
      const id = await batchIn(from, here)
      const allowed = batchTransitions.some(each => each.name === 'stall' && each.from.includes(from))
      expect(await stallBatch(here.db, id, stalled, here.clock.instant())).toBe(allowed ? 'stalled' : undefined)
      expect((await here.engine.batch(id))!.state).toBe(allowed ? 'stalled' : from)
      await here.tick()
      expect((await here.engine.batch(id))!.state).toBe(allowed ? 'stalled' : from)
    } finally {
      await here.db.close()
    }
  })
})

async function inWorld(work: (here: World) => Promise<void>): Promise<void> {
  const here = await world()
  try {
    await work(here)
    expect(await auditBatches(here.databaseUrl)).toEqual([])
  } finally {
    await here.db.close()
  }
}

test('resume with `from` continues only a batch in that state', () =>
  inWorld(async here => {
    const { engine } = here
    const call = (id: string, from: 'paused' | 'stalled') =>
      engine.batches.resume(id, { from }).catch(error => (isRetomaError(error) ? error.code : error))
    const paused = await batchIn('paused', here)
    expect(await call(paused, 'stalled')).toBe('batch_paused')
    expect(await engine.batch(paused)).toMatchObject({ state: 'paused', resumes: 0 })
    expect(await call(paused, 'paused')).toMatchObject({ state: 'running', changed: true, resumed: 1 })
    expect(await engine.batch(paused)).toMatchObject({ resumes: 0 })
    const stalledBatch = await batchIn('stalled', here)
    expect(await call(stalledBatch, 'paused')).toBe('batch_state')
    expect(await call(stalledBatch, 'stalled')).toMatchObject({ state: 'running', changed: true })
    const succeeded = await batchIn('succeeded', here)
    expect(await call(succeeded, 'paused')).toBe('batch_state')
    expect(await call(succeeded, 'stalled')).toMatchObject({ state: 'succeeded', changed: false, resumed: 0 })
  }))

test('a job id is no batch, and a batch id is no job', () =>
  inWorld(async ({ engine, ...here }) => {
    const batch = await batchIn('paused', { engine, ...here } as World)
    const [item] = (await engine.batches.items(batch)).items
    const other = `${Number(item!.id) + 1_000_000}`
    for (const call of [engine.batches.pause, engine.batches.resume, engine.batches.cancel, engine.batches.retryFailed])
      await expect(call(other)).rejects.toMatchObject({ code: 'not_found' })
    for (const call of [engine.jobs.cancel, engine.jobs.resume, engine.jobs.retry, engine.jobs.rerun])
      await expect(call(other)).rejects.toMatchObject({ code: 'not_found', facts: { what: 'job' } })
  }))

test('resume is counted once for ten callers at once, and answers what is not final', () =>
  inWorld(async here => {
    const id = await batchIn('stalled', here)
    const answers = await Promise.all(Array.from({ length: 10 }, () => here.engine.batches.resume(id)))
    expect(answers.filter(each => each.changed)).toMatchObject([{ state: 'running', resumed: 1 }])
    expect(await here.engine.batch(id)).toMatchObject({ state: 'running', resumes: 1, maxResumes: 3 })
  }))

test('a stall with the resumes spent makes it failed, and what had not ended fails with that reason; retryFailed is the way out', () =>
  inWorld(async here => {
    const { engine, run, clock, db } = here
    const id = await batchIn('running', here)
    for (const resumes of [1, 2, 3]) {
      expect(await stallBatch(db, id, stalled, clock.instant())).toBe('stalled')
      expect(await engine.batch(id)).toMatchObject({ state: 'stalled', reason: stalled })
      await engine.batches.resume(id)
      expect(await engine.batch(id)).toMatchObject({ state: 'running', resumes, reason: null })
    }
    expect(await stallBatch(db, id, stalled, clock.instant())).toBe('failed')
    await here.tick()
    expect(await engine.batch(id)).toMatchObject({
      state: 'failed',
      reason: { code: 'resumes_spent', resumes: 3 },
      succeeded: 1,
      failed: 2,
      following: false,
    })
    const { items } = await engine.batches.items(id, { state: 'failed' })
    const ended = items.find(each => each.error?.code === 'resumes_spent')
    expect(ended?.error).toMatchObject({ type: 'stalled', message: 'batch ended after 3 resumes; item not processed' })
    expect(await engine.batches.retryFailed(id)).toMatchObject({
      state: 'running',
      retried: 2,
      conflicts: 0,
      changed: true,
    })
    expect(await engine.batch(id)).toMatchObject({ resumes: 0, succeeded: 1, failed: 0, waiting: 2 })
    await run()
    expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', succeeded: 2, failed: 1 })
  }))

test('retryFailed of one cause leaves the others, and keeps checkpoints', () =>
  inWorld(async ({ clock: _, ...here }) => {
    const ran: string[] = []
    let broken = true
    const steps = defineJob<string>({
      kind: 'steps',
      queue: 'q',
      run: async (ctx, name) => {
        await ctx.step('paid', () => void ran.push(name))
        if (broken) throw doNotRetry(`${name.startsWith('a') ? 'no such page' : 'no money'} ${name.length}`)
      },
    })
    const batch = defineBatch({ name: 's', job: steps })
    const made = await engineOf({ batches: [batch] })
    const { engine, run } = made
    const { id } = await engine.submit(batch, ['a', 'aa', 'aaa', 'b', 'bb'], { ref: name => name })
    await run()
    const groups = await engine.batches.failures(id)
    expect(groups).toMatchObject([
      { count: 3, more: false, code: null, refs: ['a', 'aa', 'aaa'], message: 'no such page 3' },
      { count: 2, refs: ['b', 'bb'] },
    ])
    broken = false
    expect(await engine.batches.retryFailed(id, { cause: groups[0]!.cause })).toMatchObject({
      retried: 3,
      state: 'running',
    })
    await run()
    expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', succeeded: 3, failed: 2 })
    expect(ran).toEqual(['a', 'aa', 'aaa', 'b', 'bb'])
    expect(await engine.batches.failures(id)).toMatchObject([{ count: 2, refs: ['b', 'bb'] }])
    expect(await auditBatches(made.databaseUrl)).toEqual([])
    expect(here.databaseUrl).toBeDefined()
  }))

test('retryFailed in a pause waits again and stays paused; of a stalled one it is a resume', () =>
  inWorld(async here => {
    const paused = await batchIn('paused', here)
    expect(await here.engine.batches.retryFailed(paused)).toMatchObject({ state: 'paused', retried: 1 })
    expect(await here.run()).toBe(0)
    expect(await here.engine.batch(paused)).toMatchObject({ failed: 0, waiting: 2 })
    const stood = await batchIn('stalled', here)
    expect(await here.engine.batches.retryFailed(stood)).toMatchObject({ state: 'running', retried: 1 })
    expect(await here.engine.batch(stood)).toMatchObject({ resumes: 1 })
  }))

test('retryFailed called by ten at once moves each item once', () =>
  inWorld(async here => {
    const { engine, run } = here
    const { id } = await engine.submit(
      define(3),
      Array.from({ length: 3000 }, () => 1),
    )
    await run()
    const answers = await Promise.all(Array.from({ length: 10 }, () => engine.batches.retryFailed(id)))
    expect(answers.reduce((sum, each) => sum + each.retried, 0)).toBe(3000)
    expect(await engine.batch(id)).toMatchObject({ state: 'running', failed: 0, waiting: 3000 })
    await run()
    expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 3000 })
  }))

test('a retry that waited for the last chunk of another begins none: each is shown what it moved', () =>
  inWorld(async here => {
    const { engine, run, sql } = here
    const { id } = await engine.submit(define(3), [1, 1])
    await run()
    const rival = new pg.Client({ connectionString: here.databaseUrl })
    onTestFinished(() => rival.end())
    await rival.connect()
    await rival.query('begin')
    await rival.query(`select from retoma.batch where id = $1 for update`, [id])
    const second = engine.batches.retryFailed(id)
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until(async () => (await sql(waiting)).length > 0)
    await rival.query(
      `update retoma.job set state = 'waiting', finished_at = null, error = null, failures = 0 where batch_id = $1`,
      [id],
    )
    await rival.query(`insert into retoma.batch_count (batch_id, shard, failed) values ($1, 99, -2)`, [id])
    await rival.query(`update retoma.batch set state = 'running', finished_at = null, retries = 1 where id = $1`, [id])
    await rival.query('commit')
    expect(await second).toMatchObject({ retried: 0, changed: false })
    expect(await sql(`select retries from retoma.batch where id = $1`, [id])).toEqual([{ retries: 1 }])
  }))

test('an item whose key another job has by now is left, and counted as held', () =>
  inWorld(async ({ engine, run }) => {
    const { id } = await engine.submit(define(3), [1, 1], {
      each: (_, index) => ({ key: `k${index}`, keyUntil: 'final' }),
    })
    await run()
    await engine.enqueue(work, 2, { key: 'k0', delay: seconds(60) })
    expect(await engine.batches.retryFailed(id)).toMatchObject({ retried: 1, conflicts: 1, state: 'running' })
  }))

test('a retry that broke off is finished by a tick, and only then can the batch end', () =>
  inWorld(async here => {
    const { engine, run, sql, tick } = here
    const { id } = await engine.submit(
      define(3),
      Array.from({ length: 10 }, () => 1),
    )
    await run()
    await sql(
      `update retoma.batch set state = 'running', finished_at = null, reopen_count = reopen_count + 1, cascade = 'retry', cascade_at = now() + interval '10 years', cascade_place = '', cascade_id = 0 where id = $1`,
      [id],
    )
    expect(await engine.batch(id)).toMatchObject({ state: 'running', failed: 10, following: true })
    expect(await finishBatches(here.db, [id], null)).toMatchObject([{ ended: false, left: 0 }])
    await tick()
    expect(await engine.batch(id)).toMatchObject({ state: 'running', failed: 0, waiting: 10, following: false })
  }))

test('cancel is at once; what was claimed loses its lease, and a broken-off cancel is finished by a tick', () =>
  inWorld(async here => {
    const { engine, sql, tick, clock } = here
    const { id } = await engine.submit(
      define(3),
      Array.from({ length: 5000 }, () => 0),
    )
    await sql(
      `update retoma.job set state = 'running', worker_id = 'w', attempt = 1, started_at = now() where id in (select id from retoma.job where batch_id = $1 limit 10)`,
      [id],
    )
    await sql(`insert into retoma.batch_count (batch_id, shard, started) values ($1, 16, 10)`, [id])
    await sql(
      `update retoma.batch set state = 'cancelled', claims_blocked = true, finished_at = $2, cascade = 'cancel', cascade_at = $2 where id = $1`,
      [id, clock.instant()],
    )
    expect(await here.run()).toBe(0)
    await tick()
    expect(await engine.batch(id)).toMatchObject({
      state: 'cancelled',
      cancelled: 5000,
      running: 0,
      waiting: 0,
      following: false,
    })
    expect(await sql(`select from retoma.job where worker_id is not null`)).toEqual([])
    expect(await sql(`select from retoma.batch where claims_blocked`)).toEqual([])
  }))

test('nothing of a paused batch is claimed, from the commit on; resumed, all of it is', () =>
  inWorld(async ({ engine, run }) => {
    const { id } = await engine.submit(define(3), [0, 0, 0])
    const { id: other } = await engine.submit(define(3), [0])
    await engine.batches.pause(id)
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'person' }, rate: null })
    expect(await run()).toBe(1)
    expect(await engine.batch(other)).toMatchObject({ state: 'succeeded' })
    await engine.batches.resume(id)
    expect(await run()).toBe(3)
    expect(await engine.batch(id)).toMatchObject({ state: 'succeeded' })
  }))

test('a batch that was paused when its last item ended is over once the pause is', () =>
  inWorld(async ({ engine, sql }) => {
    const { id } = await engine.submit(define(3), [0])
    await engine.batches.pause(id)
    const { items } = await engine.batches.items(id)
    await engine.jobs.skip(items[0]!.id, 'not needed')
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', skipped: 1, waiting: 0 })
    expect(await engine.batches.resume(id)).toMatchObject({ changed: true })
    expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', skipped: 1 })
    expect(await sql(`select from retoma.batch where claims_blocked`)).toEqual([])
  }))

test('the progress time of a batch is the end of its last attempt, of one that failed as well, and no action moves it', () =>
  inWorld(async ({ engine, clock }) => {
    const { id } = await engine.submit(define(3), [0, 0, 1, 2], {
      ref: (_, index) => `item ${index}`,
      each: (_, index) => ({ delay: seconds(index * 10) }),
    })
    const progress = async () => {
      const { progressAt, lastRef } = (await engine.batch(id))!
      return { progressAt, lastRef }
    }
    expect(await progress()).toEqual({ progressAt: null, lastRef: null })
    const begun = clock.now().getTime()
    // One worker, so that all outcomes are counted in a single row.
    const worker = await internalsOf(engine).begin({}, 'by hand')
    for (let n = 0; n < 3; n++) {
      await worker.drain()
      expect(await progress()).toEqual({ progressAt: new Date(begun + n * 10_000), lastRef: `item ${n}` })
      await clock.advance(seconds(10))
    }
    await worker.stop()
    await engine.batches.pause(id)
    await engine.jobs.skip((await engine.batches.items(id)).items[3]!.id, 'known')
    expect(await progress()).toEqual({ progressAt: new Date(begun + 20_000), lastRef: 'item 2' })
  }))

describe('one item', () => {
  test('skipped by hand ends, whatever it was; the last one ends its batch', () =>
    inWorld(async here => {
      const { engine } = here
      const id = await batchIn('running', here)
      const { items } = await engine.batches.items(id)
      const [done, failed, waiting] = items
      expect(await engine.jobs.skip(failed!.id, 'known')).toMatchObject({ state: 'skipped', changed: true })
      expect(await engine.batch(id)).toMatchObject({ state: 'running', failed: 0, skipped: 1 })
      expect(await engine.jobs.skip(waiting!.id, 'known')).toMatchObject({ changed: true })
      expect(await engine.jobs.skip(waiting!.id, 'known')).toMatchObject({ changed: false })
      expect(await engine.job(waiting!.id)).toMatchObject({ error: { type: 'skipped', message: 'known' } })
      await expect(engine.jobs.skip(done!.id, 'known')).rejects.toThrow(/wrong_state/)
      expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', skipped: 2 })
    }))

  test('that failed last of a batch and is skipped makes the batch succeeded, also if two people skip at the same time', () =>
    inWorld(async ({ engine, run }) => {
      const { id } = await engine.submit(define(3), [0, 1, 1])
      await run()
      expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 2 })
      const { items } = await engine.batches.items(id, { state: 'failed' })
      await Promise.all(items.map(item => engine.jobs.skip(item.id, 'known')))
      expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', failed: 0, skipped: 2 })
    }))

  test('that was skipped, cancelled or failed and runs again counts as waiting, and no longer as what it was', () =>
    inWorld(async ({ engine, run, databaseUrl }) => {
      const { id } = await engine.submit(define(3), [2, 2, 1, 2], later)
      await run()
      const [skipped, cancelled, failed] = (await engine.batches.items(id)).items
      await engine.jobs.skip(skipped!.id, 'known')
      await engine.jobs.cancel(cancelled!.id)
      expect(await engine.batch(id)).toMatchObject({ skipped: 1, cancelled: 1, failed: 1, waiting: 1, percent: 75 })
      await engine.jobs.retry(skipped!.id)
      expect(await engine.batch(id)).toMatchObject({ skipped: 0, cancelled: 1, failed: 1, waiting: 2, percent: 50 })
      await engine.jobs.retry(cancelled!.id)
      expect(await engine.batch(id)).toMatchObject({ skipped: 0, cancelled: 0, failed: 1, waiting: 3, percent: 25 })
      await engine.jobs.retry(failed!.id)
      expect(await engine.batch(id)).toMatchObject({ skipped: 0, cancelled: 0, failed: 0, waiting: 4, percent: 0 })
      expect(await auditBatches(databaseUrl)).toEqual([])
    }))

  test('run again opens its batch again, which ends again, with its onComplete', () =>
    inWorld(async () => {
      const reports: unknown[] = []
      const report = defineJob<{ end: number; failed: number }>({
        kind: 'report',
        run: (_, { end, failed }) => void reports.push([end, failed]),
      })
      const batch = defineBatch({ name: 'r', job: work, onComplete: report })
      const { engine, run, databaseUrl } = await engineOf({ batches: [batch] })
      const { id } = await engine.submit(batch, [0, 1])
      await run()
      const [item] = (await engine.batches.items(id, { state: 'failed' })).items
      expect(await engine.jobs.retry(item!.id)).toMatchObject({ state: 'waiting', changed: true })
      expect(await engine.batch(id)).toMatchObject({ state: 'running', failed: 0, finishedAt: null })
      await run()
      expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', failed: 1 })
      expect(reports).toEqual([
        [1, 1],
        [2, 1],
      ])
      expect(await auditBatches(databaseUrl)).toEqual([])
    }))

  test('of a cancelled batch does not run again', () =>
    inWorld(async here => {
      const id = await batchIn('cancelled', here)
      const [item] = (await here.engine.batches.items(id, { state: 'cancelled' })).items
      await expect(here.engine.jobs.retry(item!.id)).rejects.toThrow(/batch_cancelled/)
    }))
})

test('another priority is for what waits and for what is still to come', () =>
  inWorld(async ({ engine }) => {
    async function* slow() {
      for (let n = 0; n < 2001; n++) yield 0
      const [{ id } = { id: '' }] = (await engine.batches.list()).items
      expect(await engine.batches.setPriority(id, 1)).toMatchObject({ moved: expect.any(Number) })
      for (let n = 0; n < 1500; n++) yield 0
    }
    const { id } = await engine.submit(define(3), slow())
    await engine.batches.setPriority(id, 1)
    const priorities = new Set<number>()
    let after: string | null | undefined
    do {
      const page = await engine.batches.items(id, { limit: 500, ...(after ? { after } : {}) })
      for (const { priority } of page.items) priorities.add(priority)
      after = page.next
    } while (after)
    expect([...priorities]).toEqual([1])
    expect(await engine.batch(id)).toMatchObject({ priority: 1 })
  }))

describe('stopAfter', () => {
  const stopping = (stopAfter: object) => defineBatch({ name: 'stop', job: work, stopAfter })
  test('so many failures pause it, with the counts; going on does not stop for the same ones again', async () => {
    const batch = stopping({ failures: 3 })
    const { engine, run, tick, databaseUrl } = await engineOf({ batches: [batch] })
    const { id } = await engine.submit(batch, [1, 1, 1, 2], later)
    await run()
    expect(await engine.batch(id)).toMatchObject({
      state: 'paused',
      reason: { code: 'stop_after', failed: 3, ended: 3 },
    })
    await engine.batches.resume(id)
    await tick()
    expect(await engine.batch(id)).toMatchObject({ state: 'running', reason: null })
    await engine.batches.retryFailed(id)
    await run()
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { failed: 3 } })
    expect(await auditBatches(databaseUrl)).toEqual([])
  })

  test('what is retried one by one counts again when it fails again', async () => {
    const batch = stopping({ failures: 2 })
    const { engine, run } = await engineOf({ batches: [batch] })
    const { id } = await engine.submit(batch, [1, 1, 2], later)
    await run()
    await engine.batches.resume(id)
    const { items } = await engine.jobs.list({ state: 'failed' })
    for (const each of items) await engine.jobs.retry(each.id)
    await run()
    expect(await engine.batch(id)).toMatchObject({ state: 'paused', reason: { code: 'stop_after', failed: 2 } })
  })

  test('so many of a hundred, once twenty have ended', async () => {
    const batch = stopping({ percent: 50 })
    const { engine, run } = await engineOf({ batches: [batch] })
    const few = await engine.submit(batch, [1, 1, 1, 1, 2], later)
    const many = await engine.submit(batch, [...Array.from({ length: 24 }, (_, n) => n % 2), 2], later)
    await run()
    expect(await engine.batch(few.id)).toMatchObject({ state: 'running' })
    expect(await engine.batch(many.id)).toMatchObject({ state: 'paused', reason: { failed: 12, ended: 24 } })
  })
})

test('rate and time left come from samples that ticks keep, and are unknown while it stands', () =>
  inWorld(async ({ engine, run, clock, tick }) => {
    const { id } = await engine.submit(define(3), [...Array.from({ length: 100 }, () => 0), 2, 2], later)
    await tick()
    expect(await engine.batch(id)).toMatchObject({ rate: null, etaSeconds: null })
    await clock.advance(seconds(10))
    await run()
    expect(await engine.batch(id)).toMatchObject({ rate: 10, etaSeconds: 1 })
    await engine.batches.pause(id)
    expect(await engine.batch(id)).toMatchObject({ rate: null, etaSeconds: null })
  }))

test('a whole batch goes when its time has come, never a single item of it', () =>
  inWorld(async ({ engine, run, clock, clean, tick, sql }) => {
    const { id } = await engine.submit(define(3), [0, 1, 2], later)
    await run()
    await clock.advance(seconds(91 * 86_400))
    await clean()
    await tick()
    expect(await engine.batch(id)).toMatchObject({ total: 3, succeeded: 1, failed: 1, waiting: 1 })
    await run()
    await clean()
    await tick()
    expect(await engine.batch(id)).toMatchObject({ state: 'completed_with_failures', total: 3 })
    await clock.advance(seconds(91 * 86_400))
    await clean()
    expect(await engine.batch(id)).toBeNull()
    await tick()
    for (const table of ['job', 'batch', 'batch_count', 'batch_chunk', 'failure'])
      expect(await sql(`select from retoma.${table}`)).toEqual([])
  }))
