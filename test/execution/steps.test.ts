/** Steps: a saved step never runs again, after a crash at any instant. */
import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type Collected,
  defineBatch,
  defineJob,
  doNotRetry,
  hours,
  type JobContext,
  milliseconds,
  minutes,
  seconds,
} from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { engineOf, engineWith, gate, liveEngine, shareDatabase, until } from '../support/engine.ts'
import { databaseError, linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

test('steps work without their context', async () => {
  const job = defineJob({
    kind: 'loose',
    run: async ({ step, each, transaction, checkpoint, progress }) => {
      await checkpoint('begun')
      await progress({ done: 1, total: 2 })
      const [a, b] = await each('both', [1, 2], item => item * 2)
      const rows = await transaction('asked', async tx => (await tx.query('select 1 as one')).rows)
      return step('sum', () => a! + b! + rows.length)
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 7 })
})

test('a handler may listen to its signal in every step, and Node reports no leak', async () => {
  const warnings: Error[] = []
  const heard = (warning: Error) => void warnings.push(warning)
  process.on('warning', heard)
  const listen = (signal: AbortSignal) => signal.addEventListener('abort', () => {})
  const job = defineJob({
    kind: 'listens',
    run: async ctx => {
      for (let n = 0; n < 12; n++) await ctx.step(`part ${n}`, listen)
      await ctx.step('timed', signal => Array.from({ length: 12 }, () => listen(signal)).length, {
        timeout: minutes(1),
      })
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  process.off('warning', heard)
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded' })
  expect(warnings).toEqual([])
})

test('a handler reads the kind, queue, ref, group, batch and failures of its job', async () => {
  const seen: unknown[] = []
  const job = defineJob({
    kind: 'looks',
    queue: 'eyes',
    backoff: { first: seconds(1), jitter: 0 },
    run: ({ kind, queue, ref, groupKey, batchId, failures }) => {
      seen.push({ kind, queue, ref, groupKey, batchId, failures })
      if (failures === 0) throw new Error('once')
    },
  })
  const { engine, run, clock } = await engineWith(job)
  await engine.enqueue(job, undefined, { groupKey: 'tenant-7', ref: 'A-17' })
  await run()
  await clock.advance(seconds(1))
  await run()
  const single = { kind: 'looks', queue: 'eyes', ref: 'A-17', groupKey: 'tenant-7', batchId: null }
  expect(seen).toEqual([
    { ...single, failures: 0 },
    { ...single, failures: 1 },
  ])
  const { id } = await engine.submit(defineBatch({ name: 'all', job }), [undefined], { ref: () => 'B-1' })
  await run()
  expect(seen.at(-1)).toEqual({ ...single, ref: 'B-1', groupKey: null, batchId: id, failures: 0 })
})

test('a later attempt gets what was saved, and goes on after it', async () => {
  const ran: string[] = []
  const job = defineJob({
    kind: 'k',
    backoff: { first: seconds(1), jitter: 0 },
    run: async ctx => {
      const at = await ctx.step('first', () => {
        ran.push('first')
        return new Date('2030-01-01T00:00:00Z')
      })
      const [a, b] = await Promise.all([
        ctx.step('a', () => void ran.push('a')),
        ctx.step('b', async () => ran.push('b') && new Map([[1n, 'x']])),
      ])
      if (ctx.attempt === 1) throw new Error('cut')
      return [at.toISOString(), a === undefined, b]
    },
  })
  const { engine, run, clock } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  await clock.advance(seconds(1))
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', attempt: 2 })
  expect(ran).toEqual(['first', 'a', 'b'])
  expect((await engine.job(id))?.checkpoints.map(({ name, attempt }) => [name, attempt])).toEqual([
    ['a', 1],
    ['b', 1],
    ['first', 1],
  ])
  expect((await engine.job(id))?.result).toEqual(['2030-01-01T00:00:00.000Z', true, new Map([[1n, 'x']])])
})

describe('with a fault at every call of the store', () => {
  const steps = ['one', 'two', 'three', 'four', 'five']
  const statements = ['claim', 'checkpoint_save', 'checkpoint_load', 'checkpoint_note', 'settle', 'worker_heartbeat']
  const cases = statements.flatMap(name => ['before', 'after'].map(when => [name, when] as const))

  test.each(cases)('%s, %s it: each step that was saved ran once, and the job succeeds', async (name, when) => {
    const effects: string[] = []
    let struck = 0
    for (let nth = 0; nth < 6 && struck === nth; nth++) {
      const clock = new VirtualClock()
      const w = await faultyWorker({
        clock,
        run: async ctx => {
          for (const step of steps) {
            await ctx.step(step, () => void effects.push(step))
            // Where a job is, is noted once a second.
            if (step === 'two') await clock.sleep(seconds(2))
          }
          // The first attempt is cut short after all of its steps.
          if (ctx.attempt === 1) throw new Error('cut')
        },
      })
      effects.length = 0
      let calls = 0
      const matches = () => calls++ === nth
      // There may be fewer such calls in a life, but never none.
      const fault = w.db.fail(name, when as 'before' | 'after', linkLost(), { matches, mayMiss: nth > 0 })
      const id = await w.enqueue()
      await w.begin()
      await w.settles(id)
      expect(effects).toEqual(steps)
      struck += fault.struck
      await w.close()
    }
  })
})

describe('killed at every instant, before and after each call of the store', () => {
  const steps = ['one', 'two', 'three', 'four']
  async function runThrough() {
    const effects: string[] = []
    const w = await faultyWorker({
      run: async ctx => {
        for (const step of steps) await ctx.step(step, () => void effects.push(step))
        await ctx.transaction('five', tx => tx.query('insert into public.payment values ($1, 5)', [ctx.id]))
      },
    })
    await w.sql(`create table if not exists public.payment (job text, amount int)`)
    await w.sql(`truncate public.payment`)
    return { ...w, effects }
  }

  test.each(['before', 'after'] as const)('%s it: what was saved ran once, and the job succeeds', async when => {
    const whole = await runThrough()
    await whole.begin()
    await whole.settles(await whole.enqueue())
    expect(whole.db.asked).toEqual(
      expect.arrayContaining(['checkpoint_save', 'lend', 'tx.keep', 'tx.commit', 'settle']),
    )
    const calls = whole.db.asked.lastIndexOf('settle')
    // The first calls write the worker's own row and prepare its statements: before the answers nothing begins.
    const begun = whole.db.asked.indexOf('settle')
    expect(whole.db.asked.slice(0, begun)).toContain('worker_register')
    let ranTwice = 0
    for (let nth = begun + 1; nth <= calls; nth++) {
      const w = await runThrough()
      const id = await w.enqueue()
      await w.beginAndDie(w.db.dieAt(nth, when))
      const saved = await w.sql<{ name: string }>(`select name from retoma.checkpoint`)
      const before = [...w.effects]
      await w.takeOver()
      await w.recovers(id)
      expect(await w.row(id)).toMatchObject({ failures: 0 })
      expect(await w.sql(`select amount from public.payment`)).toEqual([{ amount: 5 }])
      const again = w.effects.slice(before.length)
      for (const { name } of saved) expect(again).not.toContain(name)
      expect(new Set(w.effects)).toEqual(new Set(steps))
      ranTwice += w.effects.length - steps.length
      await w.close()
    }
    // Killed between an effect and its checkpoint, it does run again: so the deaths were at the right places.
    if (when === 'before') expect(ranTwice).toBeGreaterThan(0)
  })
})

test('a worker that lost its job saves nothing more, and its handler hears it', async () => {
  const begun = gate()
  const go = gate()
  const heard = gate<unknown>()
  const w = await faultyWorker({
    run: async ctx => {
      if (ctx.attempt > 1) return ctx.step('s', () => 'second')
      begun.open()
      await go.passed
      await ctx.step('s', () => 'first').catch(heard.open)
      throw new Error('never mind')
    },
  })
  const id = await w.enqueue()
  await w.begin()
  await begun.passed
  await w.sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [id])
  go.open()
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  await w.settles(id)
  expect(await w.sql(`select value, attempt from retoma.checkpoint`)).toEqual([{ value: 'second', attempt: 2 }])
})

test('what PostgreSQL refuses fails its own step, and the others of the flush are saved', async () => {
  const w = await faultyWorker({ run: ctx => ctx.step('s', () => 1), queues: { q: 10 } })
  const bad = await w.enqueue()
  const ids = [await w.enqueue(), await w.enqueue()]
  w.db.fail('checkpoint_save', 'before', databaseError('22P02'), {
    times: 100,
    matches: values => (values[0] as string[]).includes(bad),
  })
  await w.begin()
  for (const id of [...ids, bad]) await w.settles(id)
  expect(await w.row(bad)).toMatchObject({ state: 'failed', failures: 1 })
  expect(await w.sql(`select job_id as id from retoma.checkpoint order by 1`)).toEqual(ids.map(id => ({ id })))
})

test('a step may keep more than a megabyte where it says so', async () => {
  const job = defineJob({
    kind: 'large',
    run: async ctx => {
      const text = await ctx.step('a', () => 'x'.repeat(3 * 1024 * 1024), { maxBytes: 4 * 1024 * 1024 })
      const again = await ctx.transaction('b', () => text, { maxBytes: 4 * 1024 * 1024 })
      return again.length
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 3 * 1024 * 1024 })
})

describe('misuse is reported', () => {
  const cases: Record<string, [(ctx: Ctx) => unknown, string]> = {
    'two steps of one name': [ctx => ctx.step('a', () => 1).then(() => ctx.step('a', () => 2)), 'step_twice'],
    'a step nobody waits for': [
      ctx => void ctx.step('slow', () => new Promise(resolve => setImmediate(resolve, 1))),
      'step_not_awaited',
    ],
    'a step nobody waits for, which fails': [
      ctx => void ctx.step('slow', () => Promise.reject(new Error('unheard'))),
      'step_not_awaited',
    ],
    'a result too large': [ctx => ctx.step('a', () => 'x'.repeat(1024 * 1024)), 'step_too_large'],
    'a result larger than it may be': [
      ctx => ctx.step('a', () => 'x'.repeat(100), { maxBytes: 100 }),
      'step_too_large',
    ],
    'a bound beyond what is kept': [ctx => ctx.step('a', () => 1, { maxBytes: 9 * 1024 * 1024 }), 'bad_option'],
    'a result that is no data': [ctx => ctx.step('a', () => () => 1), 'bad_value'],
    'a name that is none': [ctx => ctx.step('', () => 1), 'bad_option'],
    'an option that is none': [ctx => ctx.step('a', () => 1, { retries: 2 } as never), 'bad_option'],
    'a concurrency that is none': [ctx => ctx.each('a', [1], () => 1, { concurrency: 0 }), 'bad_option'],
    'a sleep that is none': [ctx => ctx.sleep('a', -1 as never), 'bad_option'],
    'two elements of one key': [ctx => ctx.each('a', [1, 2], () => 1, { key: () => 'same' }), 'step_twice'],
  }
  type Ctx = Parameters<Parameters<typeof defineJob>[0]['run']>[0]
  test.each(Object.entries(cases))('%s', async (_, [use, code]) => {
    const job = defineJob({ kind: 'k', maxAttempts: 1, run: ctx => use(ctx) as Promise<undefined> })
    const { engine, run } = await engineWith(job)
    const { id } = await engine.enqueue(job, undefined)
    await run()
    expect(await engine.job(id)).toMatchObject({ state: 'failed', error: { code } })
  })

  test('a step begun after its attempt is over', async () => {
    const late = gate()
    const refused = gate<unknown>()
    const job = defineJob({
      kind: 'k',
      run: ctx => {
        void late.passed.then(() => ctx.step('late', () => 1)).catch(refused.open)
      },
    })
    const { engine, run } = await engineWith(job)
    await engine.enqueue(job, undefined)
    await run()
    late.open()
    expect(await refused.passed).toMatchObject({ code: 'attempt_over' })
  })
})

test('a step is tried again by itself when it says so, and not when trying cannot help', async () => {
  const tries: string[] = []
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: async ctx => {
      const backoff = { first: milliseconds(0), jitter: 0 }
      const answer = await ctx.step(
        'flaky',
        () => {
          if (tries.push('flaky') < 3) throw new Error('503')
          return tries.length
        },
        { maxAttempts: 3, backoff },
      )
      const final = ctx.step(
        'final',
        () => {
          tries.push('final')
          throw doNotRetry('402')
        },
        { maxAttempts: 3, backoff },
      )
      return [answer, await final.catch(error => error.message)]
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: [3, '402'] })
  expect(tries).toEqual(['flaky', 'flaky', 'flaky', 'final'])
})

test('a step that takes too long is named as such, and its signal says it', async () => {
  const heard = gate<unknown>()
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: ctx =>
      ctx.step('slow', signal => new Promise(() => signal.addEventListener('abort', () => heard.open(signal.reason))), {
        timeout: seconds(30),
      }),
  })
  const { engine, clock } = await engineWith(job)
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await until(async () => (await engine.job(id))?.state === 'running')
  await until(async () => {
    await clock.advance(seconds(10))
    return (await engine.job(id))?.state === 'failed'
  })
  expect(await heard.passed).toMatchObject({ code: 'step_timeout' })
  expect(await engine.job(id)).toMatchObject({ error: { code: 'step_timeout' } })
})

describe('each', () => {
  const listJob = (
    list: (attempt: number) => string[],
    options: { key?: (item: string) => string; concurrency?: number } = {},
  ) => {
    const ran: string[] = []
    const job = defineJob({
      kind: 'k',
      backoff: { first: milliseconds(0), jitter: 0 },
      run: ctx =>
        ctx.each(
          'pages',
          list(ctx.attempt),
          item => {
            if (item === 'bad' && ctx.attempt === 1) throw new Error('bad')
            ran.push(item)
            return item.toUpperCase()
          },
          options,
        ),
    })
    return { job, ran }
  }

  test('goes on inside the list, and answers in its order', async () => {
    const { job, ran } = listJob(() => ['a', 'b', 'bad', 'd'])
    const { engine, run } = await engineWith(job)
    const { id } = await engine.enqueue(job, undefined)
    await run()
    expect(await engine.job(id)).toMatchObject({ state: 'succeeded', attempt: 2, result: ['A', 'B', 'BAD', 'D'] })
    expect(ran).toEqual(['a', 'b', 'bad', 'd'])
  })

  test('several at once, and none begins after one has failed', async () => {
    const { job, ran } = listJob(() => ['a', 'bad', 'c', 'd', 'e'], { concurrency: 2 })
    const { engine, run } = await engineWith(job)
    const { id } = await engine.enqueue(job, undefined)
    await run()
    expect(await engine.job(id)).toMatchObject({ result: ['A', 'BAD', 'C', 'D', 'E'] })
    expect(ran.toSorted()).toEqual(['a', 'bad', 'c', 'd', 'e'])
  })

  test('a changed list is refused without keys, and goes on with them', async () => {
    const lists = (attempt: number) => (attempt === 1 ? ['a', 'bad', 'c'] : ['c', 'x', 'a'])
    const plain = listJob(lists)
    const keyed = listJob(lists, { key: item => item })
    const one = await engineWith(plain.job)
    const { id } = await one.engine.enqueue(plain.job, undefined)
    await one.run()
    expect(await one.engine.job(id)).toMatchObject({ state: 'failed', error: { code: 'list_changed' } })
    const two = await engineWith(keyed.job)
    const second = await two.engine.enqueue(keyed.job, undefined)
    await two.run()
    expect(await two.engine.job(second.id)).toMatchObject({ result: ['C', 'X', 'A'] })
    expect(keyed.ran).toEqual(['a', 'c', 'x'])
  })
})

describe('each that collects', () => {
  test('answers of each element how it ended, in the order of the list, and tries a failed one again', async () => {
    const ran: string[] = []
    const job = defineJob({
      kind: 'k',
      backoff: { first: milliseconds(0), jitter: 0 },
      run: async ctx => {
        const all = await ctx.each(
          'pages',
          ['a', 'bad', 'odd', 'd'],
          page => {
            ran.push(page)
            if (page === 'odd') throw 'a text'
            if (page === 'bad' && ctx.attempt === 1) throw new Error('503')
            return page.toUpperCase()
          },
          { collect: true, concurrency: 2 },
        )
        expectTypeOf(all).toEqualTypeOf<Collected<string>[]>()
        const answers = all.map(each => (each.ok ? each.value : each.error.message))
        if (ctx.attempt === 1) throw new Error(answers.join())
        return answers
      },
    })
    const { engine, run } = await engineWith(job)
    const { id } = await engine.enqueue(job, undefined)
    await run()
    const ended = await engine.job(id)
    expect(ended).toMatchObject({ state: 'succeeded', result: ['A', 'BAD', 'a text', 'D'] })
    expect(ended?.history[0]?.message).toBe('A,503,a text,D')
    expect(ran.toSorted()).toEqual(['a', 'bad', 'bad', 'd', 'odd', 'odd'])
  })

  test('never takes a lost lease for the failure of an element', async () => {
    const begun = gate()
    const go = gate()
    const heard = gate<unknown>()
    const w = await faultyWorker({
      run: async ctx => {
        if (ctx.attempt > 1) return
        const list = ctx.each(
          'pages',
          ['a', 'b'],
          async () => {
            begun.open()
            await go.passed
            throw new Error('whatever')
          },
          { collect: true },
        )
        await list.catch(heard.open)
        throw new Error('never mind')
      },
    })
    const id = await w.enqueue()
    await w.begin()
    await begun.passed
    await w.sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [id])
    await w.clock.advance(seconds(5))
    go.open()
    expect(await heard.passed).toMatchObject({ message: 'whatever' })
    await w.settles(id)
  })

  test('nor two elements of one key', async () => {
    const run = (ctx: JobContext) => ctx.each('same', [1, 2], () => 1, { key: () => 'x', collect: true })
    const job = defineJob({ kind: 'k', maxAttempts: 1, run })
    const t = await engineWith(job)
    const { id } = await t.engine.enqueue(job, undefined)
    await t.run()
    expect(await t.engine.job(id)).toMatchObject({ state: 'failed', error: { code: 'step_twice' } })
  })
})

test('code that keeps its own place finds it again, and people see how far it is', async () => {
  const seen: unknown[] = []
  const job = defineJob({
    kind: 'k',
    backoff: { first: milliseconds(0), jitter: 0 },
    run: async ctx => {
      seen.push(ctx.resumeData)
      await ctx.checkpoint('PRICES', { tested: new Set([ctx.attempt]) }, { progress: { done: 3, total: 10 } })
      await ctx.progress({ done: 4, total: 10, note: 'page 4' })
      if (ctx.attempt < 3) throw new Error('cut')
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  expect(seen).toEqual([undefined, { tested: new Set([1]) }, { tested: new Set([2]) }])
  expect(await engine.job(id)).toMatchObject({
    state: 'succeeded',
    checkpoint: 'PRICES',
    progress: { done: 4, total: 10, note: 'page 4' },
  })
})

test('of places kept at the same time the last one counts, also when nobody waits for it', async () => {
  const seen: unknown[] = []
  const job = defineJob({
    kind: 'k',
    backoff: { first: milliseconds(0), jitter: 0 },
    run: async ctx => {
      seen.push(ctx.resumeData)
      if (ctx.attempt === 1) {
        for (let page = 1; page < 5; page++) void ctx.checkpoint('page', page)
        await ctx.checkpoint('page', 5)
      }
      if (ctx.attempt === 2) for (let page = 6; page <= 9; page++) void ctx.checkpoint('page', page)
      if (ctx.attempt < 3) throw new Error('cut')
    },
  })
  const { engine, run } = await engineWith(job)
  await engine.enqueue(job, undefined)
  await run()
  expect(seen).toEqual([undefined, 5, 9])
})

test('a long attempt shows its last step on the job while it runs, and a short one writes nothing for it', async () => {
  const go = gate()
  let long = false
  const w = await faultyWorker({
    run: async ctx => {
      await ctx.step('s', () => 1)
      if (long) await go.passed
    },
  })
  const short = await w.enqueue()
  await w.begin()
  await w.ended(short)
  expect(w.db.asked).not.toContain('checkpoint_note')
  long = true
  const id = await w.enqueue()
  const noted = `select checkpoint, progress_at is not null as progressed from retoma.job where id = $1 and state = 'running'`
  await until(async () => {
    await w.clock.advance(seconds(1))
    return (await w.sql<{ checkpoint: string | null }>(noted, [id]))[0]?.checkpoint === 's'
  })
  expect(await w.sql(noted, [id])).toEqual([{ checkpoint: 's', progressed: true }])
  go.open()
  await w.settles(id)
})

test('sleep gives its slot away, costs no try, and is slept once, also when the attempt dies in between', async () => {
  const passed: number[] = []
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: async ctx => {
      await ctx.sleep('nap', hours(1))
      passed.push(ctx.attempt)
      await ctx.sleep('again', minutes(1))
      return 'rested'
    },
  })
  const { engine, run, clock } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  expect(await run()).toBe(1)
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', failures: 0 })
  await clock.advance(minutes(59))
  expect(await run()).toBe(0)
  await clock.advance(minutes(1))
  await run()
  expect(passed).toEqual([2])
  await clock.advance(minutes(1))
  await run()
  expect(await engine.job(id)).toMatchObject({ state: 'succeeded', result: 'rested', failures: 0, attempt: 3 })
})

test('a retry goes on after the last step, a rerun begins anew, and a finished job can be run anew as well', async () => {
  const ran: string[] = []
  let fails = true
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: async ctx => {
      await ctx.step('paid', () => void ran.push(`paid ${ctx.resumeData}`))
      await ctx.checkpoint('PLACE', ctx.attempt, { progress: { done: 1 } })
      if (fails) throw new Error('no')
    },
  })
  const { engine, run } = await engineWith(job)
  const { id } = await engine.enqueue(job, undefined)
  await run()
  await engine.jobs.retry(id)
  await run()
  expect(ran).toEqual(['paid undefined'])
  fails = false
  await engine.jobs.rerun(id)
  expect(await engine.job(id)).toMatchObject({ state: 'waiting', progress: null, checkpoint: null, checkpoints: [] })
  await run()
  expect(ran).toEqual(['paid undefined', 'paid undefined'])
  await expect(engine.jobs.retry(id)).rejects.toMatchObject({ code: 'wrong_state' })
  expect(await engine.jobs.rerun(id)).toEqual({ id, state: 'waiting', changed: true })
  expect(await engine.jobs.rerun(id)).toEqual({ id, state: 'waiting', changed: false })
  await run()
  expect(ran).toHaveLength(3)
})

test('an item of a batch that is over can be run anew, and the batch goes on with it', async () => {
  const ran: string[] = []
  const job = defineJob({ kind: 'k', run: ctx => ctx.step('paid', () => void ran.push('paid')) })
  const batch = defineBatch({ name: 'b', job })
  const { engine, run } = await engineOf({ jobs: [job], batches: [batch] })
  const { id } = await engine.submit(batch, [undefined])
  await run()
  const [item] = (await engine.jobs.list()).items
  expect(await engine.jobs.rerun(item!.id)).toMatchObject({ state: 'waiting', changed: true })
  expect(await engine.batch(id)).toMatchObject({ state: 'running', succeeded: 0, waiting: 1 })
  await run()
  expect(await engine.batch(id)).toMatchObject({ state: 'succeeded', succeeded: 1, waiting: 0 })
  expect(ran).toEqual(['paid', 'paid'])
})

test('finished jobs take their checkpoints with them when they are removed', async () => {
  const job = defineJob({ kind: 'k', run: ctx => ctx.step('s', () => 1) })
  const t = await engineOf({ jobs: [job], retention: hours(1) })
  await t.engine.enqueue(job, undefined)
  await t.run()
  const count = async () => (await t.engine.jobs.list()).items.length
  expect(await count()).toBe(1)
  await t.clock.advance(hours(2))
  await t.clean()
  expect(await count()).toBe(0)
})

test('two engines: a job that was begun by one goes on in the other', async () => {
  const url = await shareDatabase()
  const ran: string[] = []
  const cut = gate()
  const job = defineJob({
    kind: 'k',
    run: async ctx => {
      await ctx.step('paid', () => void ran.push('paid'))
      if (ctx.attempt === 1) {
        cut.open()
        await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
      }
      return 'done'
    },
  })
  const [{ engine: a }, { engine: b }] = [await liveEngine([job], {}, url), await liveEngine([job], {}, url)]
  const worker = await a.work()
  const { id } = await a.enqueue(job, undefined)
  await cut.passed
  await worker.stop()
  await b.work()
  expect(await b.wait({ job: id })).toMatchObject({ state: 'succeeded', result: 'done' })
  expect(ran).toEqual(['paid'])
})
