/** A named transaction applies once, and only while its attempt holds the job: shown on a table of the user's own. */
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { defineJob, type Engine, type JobContext, type JobTransaction, milliseconds, seconds } from '../../src/index.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { gate, liveEngine, until } from '../support/engine.ts'
import { databaseError, linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

const makeTable = `create table if not exists public.payment (job text, amount int); truncate public.payment`

async function payments(url: string) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(makeTable)
  const sql = async (text: string, values: unknown[] = []) => (await client.query(text, values)).rows
  return { sql, made: async () => (await sql(`select amount from public.payment order by 1`)).map(row => row.amount) }
}

const pay = (tx: JobTransaction, job: string, amount = 1) =>
  tx.query('insert into public.payment values ($1, $2)', [job, amount])

/** A live engine with a kind that runs `run`, and the table of payments. */
async function paying(run: (ctx: JobContext, engine: Engine) => unknown, attempts = 1) {
  let engine: Engine | undefined
  const job = defineJob({
    kind: 'k',
    maxAttempts: attempts,
    backoff: { first: milliseconds(0), jitter: 0 },
    run: ctx => run(ctx, engine!) as Promise<undefined>,
  })
  const made = await liveEngine([job])
  engine = made.engine
  const table = await payments(made.url)
  const work = async () => {
    await engine!.work()
    const { id } = await engine!.enqueue(job, undefined)
    return engine!.wait({ job: id })
  }
  return { ...made, ...table, job, work }
}

test('a later attempt gets what the transaction answered, and what it wrote is there once', async () => {
  let calls = 0
  const { work, made } = await paying(async ctx => {
    const at = await ctx.transaction('pay', async tx => {
      calls++
      await pay(tx, ctx.id)
      const { rows, rowCount } = await tx.query<{ amount: number }>('select amount from public.payment')
      return { when: new Date(0), amount: rows[0]!.amount, rowCount }
    })
    if (ctx.attempt === 1) throw new Error('cut')
    return [at.when.getTime(), at.amount, at.rowCount]
  }, 2)
  expect(await work()).toMatchObject({ state: 'succeeded', attempt: 2, result: [0, 1, 1], checkpoint: 'pay' })
  expect([calls, await made()]).toEqual([1, [1]])
})

test('what a statement answers may be what the transaction answers', async () => {
  const { work } = await paying(async ctx => {
    const paid = await ctx.transaction('pay', tx =>
      tx.query('insert into public.payment values ($1, 1) returning amount', [1]),
    )
    if (ctx.attempt === 1) throw new Error('cut')
    return paid
  }, 2)
  expect(await work()).toMatchObject({ result: { command: 'INSERT', rowCount: 1, rows: [{ amount: 1 }] } })
})

describe('with a fault at every call of the store', () => {
  const plain = [
    'lend',
    'tx.begin',
    'tx.query',
    'tx.keep',
    'tx.commit',
    'claim',
    'checkpoint_save',
    'checkpoint_load',
    'settle',
  ]
  const afterCommit = ['fenced_wait', 'fenced_read']
  const cases = [...plain, ...afterCommit].flatMap(name =>
    (['before', 'after'] as const).map(when => [name, when] as const),
  )

  test.each(cases)(
    '%s, %s it: the payment is made once, no try is spent on it, and the job succeeds',
    async (name, when) => {
      let struck = 0
      for (let nth = 0; nth < 3 && struck === nth; nth++) {
        let cut = false
        const w = await faultyWorker({
          run: async ctx => {
            await ctx.step('before', () => 1)
            await ctx.transaction('pay', async tx => {
              await pay(tx, ctx.id, 1)
              await pay(tx, ctx.id, 2)
            })
            await ctx.step('after', () => 1)
            // The first one is cut short after all of that.
            if (cut) return
            cut = true
            throw new Error('cut')
          },
        })
        await w.sql(`create table if not exists public.payment (job text, amount int)`)
        await w.sql(`truncate public.payment`)
        let calls = 0
        // There may be fewer such calls in a life, but never none.
        const fault = w.db.fail(name, when, linkLost(), { matches: () => calls++ === nth, mayMiss: nth > 0 })
        // Its end must be in doubt for these to be asked.
        if (afterCommit.includes(name)) w.db.fail('tx.commit', nth % 2 === 0 ? 'after' : 'before', linkLost())
        const id = await w.enqueue()
        await w.begin()
        await w.settles(id)
        expect(await w.row(id)).toMatchObject({ state: 'succeeded', failures: 1 })
        expect(await w.sql(`select amount from public.payment order by 1`)).toEqual([{ amount: 1 }, { amount: 2 }])
        struck += fault.struck
        await w.close()
      }
    },
  )
})

test('a database that does not say for long how a commit ended is asked until it does', async () => {
  const w = await faultyWorker({ run: ctx => ctx.transaction('pay', tx => pay(tx, ctx.id).then(() => 'paid')) })
  await w.sql(`create table if not exists public.payment (job text, amount int)`)
  await w.sql(`truncate public.payment`)
  w.db.fail('tx.commit', 'after', linkLost())
  w.db.fail('fenced_wait', 'before', databaseError('57P03'), { times: 5 })
  const id = await w.enqueue()
  await w.begin()
  await w.settles(id)
  expect(await w.row(id)).toMatchObject({ state: 'succeeded', attempt: 1, failures: 0, result: 'paid' })
  expect(await w.sql(`select amount from public.payment`)).toEqual([{ amount: 1 }])
})

test('a worker that lost its job commits nothing, and its handler hears it', async () => {
  const begun = gate()
  const go = gate()
  const heard = gate<unknown>()
  const w = await faultyWorker({
    run: ctx => {
      if (ctx.attempt > 1) return ctx.transaction('pay', tx => pay(tx, ctx.id, 2).then(() => 2))
      const lost = ctx.transaction('pay', async tx => {
        await pay(tx, ctx.id, 1)
        begun.open()
        await go.passed
      })
      return lost.catch(error => {
        heard.open(error)
        throw error
      })
    },
  })
  await w.sql(`create table if not exists public.payment (job text, amount int)`)
  await w.sql(`truncate public.payment`)
  const id = await w.enqueue()
  await w.begin()
  await begun.passed
  await w.sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [id])
  go.open()
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  await w.settles(id)
  expect(await w.sql(`select amount from public.payment`)).toEqual([{ amount: 2 }])
  expect(await w.sql(`select attempt from retoma.checkpoint`)).toEqual([{ attempt: 2 }])
})

test('whose commit is in doubt while another attempt commits does not take its own as committed', async () => {
  const answer = gate()
  const heard = gate<unknown>()
  const w = await faultyWorker({
    run: async ctx => {
      const paid = ctx.transaction('pay', tx => pay(tx, ctx.id, ctx.attempt).then(() => ctx.attempt))
      if (ctx.attempt === 1) paid.then(heard.open, heard.open)
      return paid
    },
  })
  await w.sql(`create table if not exists public.payment (job text, amount int)`)
  await w.sql(`truncate public.payment`)
  w.db.fail('tx.commit', 'before', linkLost())
  w.db.hold('fenced_wait', 'before', answer.passed)
  const id = await w.enqueue()
  await w.begin()
  await w.db.askedFor('fenced_wait')
  await w.sql(`update retoma.job set state = 'waiting', worker_id = null where id = $1`, [id])
  await w.settles(id)
  answer.open()
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  expect(await w.row(id)).toMatchObject({ state: 'succeeded', attempt: 2, result: 2 })
  expect(await w.sql(`select amount from public.payment`)).toEqual([{ amount: 2 }])
})

test('one that is cancelled in the middle is rolled back at once, and nothing more is asked through it', async () => {
  const begun = gate<string>()
  const heard = gate<unknown>()
  const { work, made, engine, sql } = await paying(ctx =>
    ctx.transaction('pay', async tx => {
      await pay(tx, ctx.id)
      begun.open(ctx.id)
      await tx.query('select pg_sleep(60)').catch(error => {
        heard.open(error)
        return tx.query('select 1')
      })
    }),
  )
  const ended = work()
  await engine.jobs.cancel(await begun.passed)
  expect(await ended).toMatchObject({ state: 'cancelled' })
  expect(await heard.passed).toMatchObject({ code: 'lease_lost' })
  const asleep = `select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()`
  await until(async () => (await sql(asleep)).length === 0)
  expect(await made()).toEqual([])
})

test('a step timeout rolls it back, and what is tried again is made once', async () => {
  let calls = 0
  const job = defineJob({
    kind: 'k',
    maxAttempts: 1,
    run: ctx =>
      ctx.transaction(
        'pay',
        async (tx, signal) => {
          await pay(tx, ctx.id, ++calls)
          if (calls === 1) await new Promise(resolve => signal.addEventListener('abort', resolve))
        },
        { maxAttempts: 2, timeout: seconds(30), backoff: { first: milliseconds(0), jitter: 0 } },
      ),
  })
  const clock = new VirtualClock()
  const { engine, url } = await liveEngine([job], { clock })
  const table = await payments(url)
  await engine.work()
  const { id } = await engine.enqueue(job, undefined)
  await until(async () => {
    if (calls === 1) await clock.advance(seconds(10))
    return (await engine.job(id))?.state === 'succeeded'
  })
  expect(await table.made()).toEqual([2])
})

test('when the link is cut under it, it is called again at no cost; not for ever', async () => {
  let calls = 0
  let cuts = 1
  const { job, work, made, sql, engine } = await paying(ctx =>
    ctx.transaction('pay', async tx => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await pay(tx, ctx.id, ++calls)
      if (cuts-- > 0) await sql('select pg_terminate_backend($1)', [rows[0]!.pid])
      await pay(tx, ctx.id, 10)
    }),
  )
  expect(await work()).toMatchObject({ state: 'succeeded', attempt: 1, failures: 0 })
  expect(await made()).toEqual([2, 10])
  calls = 0
  cuts = 1000
  const { id } = await engine.enqueue(job, undefined)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'failed', failures: 1 })
  expect(calls).toBe(3)
})

test('what PostgreSQL rolls back for the sake of another transaction is called again', async () => {
  let calls = 0
  const { work, made } = await paying(ctx =>
    ctx.transaction('pay', async tx => {
      await pay(tx, ctx.id)
      if (++calls === 1) await tx.query(`do $$ begin raise serialization_failure; end $$`)
    }),
  )
  expect(await work()).toMatchObject({ state: 'succeeded', failures: 0 })
  expect([calls, await made()]).toEqual([2, [1]])
})

describe('what a handler does wrong is reported, and nothing of it is kept:', () => {
  const inside = (use: (ctx: JobContext) => Promise<unknown>) => (ctx: JobContext) =>
    ctx.transaction('pay', async tx => {
      await pay(tx, ctx.id)
      await use(ctx)
    })
  const asking = (text: string) => (ctx: JobContext) =>
    ctx.transaction('pay', async tx => {
      await pay(tx, ctx.id)
      await tx.query(text)
    })
  const cases: Record<string, [(ctx: JobContext) => unknown, string]> = {
    'a step inside': [inside(ctx => ctx.step('s', () => 1)), 'in_transaction'],
    'a list inside': [inside(ctx => ctx.each('s', [1], () => 1)), 'in_transaction'],
    'a checkpoint inside': [inside(ctx => ctx.checkpoint('s')), 'in_transaction'],
    'progress inside': [inside(ctx => ctx.progress({ done: 1 })), 'in_transaction'],
    'a sleep inside': [inside(ctx => ctx.sleep('s', seconds(1))), 'in_transaction'],
    'a transaction inside': [inside(ctx => ctx.transaction('s', () => 1)), 'in_transaction'],
    commit: [asking('commit'), 'transaction_control'],
    'a commit behind a comment': [asking('-- done\n /* so */ ; COMMIT work'), 'transaction_control'],
    'a rollback': [asking('rollback'), 'transaction_control'],
    'an end': [asking('end'), 'transaction_control'],
    'a begin': [asking('begin'), 'transaction_control'],
    'a prepared one': [asking(`prepare transaction 'x'`), 'transaction_control'],
    'a commit as a second statement': [asking('select 1; commit'), '42601'],
    'a commit in a block': [asking('do $$ begin commit; end $$'), '2D000'],
    'an error that is swallowed': [
      ctx =>
        ctx.transaction('pay', async tx => {
          await pay(tx, ctx.id)
          await tx.query('select 1 / 0').catch(() => {})
        }),
      'transaction_aborted',
    ],
    'an error of its own': [
      inside(async () => {
        throw Object.assign(new Error('no money'), { code: 'E_MONEY' })
      }),
      'E_MONEY',
    ],
    'a statement nobody waits for, which fails': [
      ctx =>
        ctx.transaction('pay', async tx => {
          await pay(tx, ctx.id)
          void tx.query('select 1 / 0')
        }),
      'transaction_aborted',
    ],
    'an answer that is no data': [
      ctx => ctx.transaction('pay', tx => pay(tx, ctx.id).then(() => () => 1)),
      'bad_value',
    ],
    'a constraint checked at the end': [
      ctx =>
        ctx.transaction('pay', async tx => {
          await pay(tx, ctx.id)
          await tx.query('create table public.once (id int unique deferrable initially deferred)')
          await tx.query('insert into public.once values (1), (1)')
        }),
      '23505',
    ],
    'two of one name': [
      async ctx => {
        await ctx.step('pay', () => 1)
        await ctx.transaction('pay', () => 1)
      },
      'step_twice',
    ],
  }
  test.each(Object.entries(cases))('%s', async (_, [run, code]) => {
    const { work, made, sql } = await paying(run)
    expect(await work()).toMatchObject({ state: 'failed', error: { code } })
    expect(await made()).toEqual([])
    expect(await sql(`select from retoma.checkpoint where name = 'pay' and value::text <> '1'`)).toEqual([])
  })

  const own: Record<string, (tx: JobTransaction) => Promise<unknown>> = {
    'a value that is no value': tx => tx.query('select $1::json', [{ toPostgres: () => JSON.parse('{') }]),
    'no list of values': tx => tx.query('select 1', 'one' as never),
    'what PostgreSQL does not know to do': tx => tx.query('select distinct amount from public.payment for update'),
    'a statement that took longer than it may': async tx => {
      await tx.query(`set local statement_timeout = '1ms'`)
      await tx.query('select pg_sleep(60)')
    },
    'a parser that fails': tx => tx.query({ text: `select '{'`, types: { getTypeParser: () => JSON.parse } }),
    'one that cannot even be asked for': tx =>
      tx.query({ text: 'select 1', types: { getTypeParser: () => JSON.parse('{') } }),
  }
  test.each(Object.entries(own))('%s, called once, and the worker lives on', async (_, ask) => {
    let calls = 0
    const { work, made } = await paying(ctx =>
      ctx.transaction('pay', async tx => {
        calls++
        await pay(tx, ctx.id)
        await ask(tx)
      }),
    )
    expect(await work()).toMatchObject({ state: 'failed', failures: 1 })
    expect([calls, await made()]).toEqual([1, []])
  })

  test('one that nobody waits for is waited for, and named', async () => {
    const { work } = await paying(ctx => void ctx.transaction('pay', tx => pay(tx, ctx.id)))
    const job = await work()
    expect(job).toMatchObject({ state: 'failed', error: { code: 'step_not_awaited' } })
    expect(job.error?.message).toContain('pay')
  })

  test('one that is kept and used later', async () => {
    const { work } = await paying(async ctx => {
      let kept: JobTransaction | undefined
      await ctx.transaction('pay', tx => {
        kept = tx
      })
      await kept!.query('select 1')
    })
    expect(await work()).toMatchObject({ state: 'failed', error: { code: 'transaction_over' } })
  })

  test('one that asks nothing for so long that PostgreSQL ends it', async () => {
    const idle = gate()
    const gone = gate()
    const { work, sql, made } = await paying(ctx =>
      ctx.transaction('pay', async tx => {
        await pay(tx, ctx.id)
        await tx.query(`set local idle_in_transaction_session_timeout = '1ms'`)
        idle.open()
        await gone.passed
      }),
    )
    const ended = work()
    await idle.passed
    const open = `select from pg_stat_activity where state like 'idle in%' and datname = current_database()`
    await until(async () => (await sql(open)).length === 0)
    gone.open()
    expect(await ended).toMatchObject({ state: 'failed', error: { code: 'transaction_idle' } })
    expect(await made()).toEqual([])
  })
})

test('beside a transaction, steps are fine; inside, savepoints are', async () => {
  const { work, made } = await paying(async ctx => {
    await Promise.all([
      ctx.transaction('pay', async tx => {
        await pay(tx, ctx.id, 1)
        await tx.query('savepoint s')
        await tx.query('select 1 / 0').catch(() => tx.query('rollback to savepoint s'))
        await pay(tx, ctx.id, 2)
      }),
      ctx.step('beside', () => 1),
      ctx.progress({ done: 1 }),
    ])
  })
  expect(await work()).toMatchObject({ state: 'succeeded' })
  expect(await made()).toEqual([1, 2])
})

test('a job enqueued with its tx is there if and only if it commits', async () => {
  const next = defineJob({ kind: 'next', queue: 'later', run: (_, n: number) => n })
  const { work, engine } = await paying(async (ctx, engine) => {
    await ctx
      .transaction('undone', async tx => {
        await engine.enqueue(next, 1, { tx })
        throw new Error('no')
      })
      .catch(() => {})
    await ctx.transaction('done', tx => engine.enqueue(next, 2, { tx }))
  })
  expect(await work()).toMatchObject({ state: 'succeeded' })
  expect((await engine.jobs.list({ kind: 'next' })).items.map(each => each.input)).toEqual([2])
})

describe('what a handler does to its session is not there for the next:', () => {
  const check = `select current_setting('search_path') as path, current_user = session_user as self, to_regclass('pg_temp.mine') as mine,
    (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`
  test.each(['commits', 'fails'])('one that %s', async how => {
    const seen: unknown[] = []
    const { work, sql } = await paying(async ctx => {
      const dirty = ctx.transaction('dirty', async tx => {
        await tx.query(`set search_path = 'elsewhere'`)
        await tx.query(`set role pg_monitor`)
        await tx.query(`reset role`)
        await tx.query(`create temp table mine ()`)
        await tx.query(`select pg_advisory_lock(1)`)
        await tx.query(`set role pg_monitor`)
        if (how === 'fails') throw new Error('no')
      })
      await dirty.catch(() => {})
      for (let n = 0; n < 3; n++) {
        await ctx.transaction(`check ${n}`, async tx => void seen.push((await tx.query(check)).rows[0]))
      }
    })
    expect(await work()).toMatchObject({ state: 'succeeded' })
    expect(seen).toEqual(Array(3).fill({ path: 'public', self: true, mine: null, locks: 0 }))
    expect(await sql(`select from retoma.checkpoint where name = 'dirty'`)).toHaveLength(how === 'fails' ? 0 : 1)
  })
})

test('handlers in transactions keep neither heartbeats nor outcomes waiting', async () => {
  const inside = gate()
  const go = gate()
  let open = 0
  const slow = defineJob({
    kind: 'slow',
    queue: 'slow',
    run: ctx =>
      ctx.transaction('t', async () => {
        if (++open === 3) inside.open()
        await go.passed
      }),
  })
  const quick = defineJob({ kind: 'quick', run: ctx => ctx.step('s', () => 'done') })
  const { engine } = await liveEngine([slow, quick], { connections: 3 })
  await engine.work()
  const ids = await engine.enqueueMany(slow, [undefined, undefined, undefined])
  await inside.passed
  const { id } = await engine.enqueue(quick, undefined)
  expect(await engine.wait({ job: id })).toMatchObject({ state: 'succeeded' })
  go.open()
  for (const each of ids.ids) expect(await engine.wait({ job: each })).toMatchObject({ state: 'succeeded' })
})
