/** `explain` of a batch in every state, on a real database and the virtual clock. */
import { expect, test } from 'vitest'
import { minutes, seconds } from '../../src/index.ts'
import { type Ask, ago, type Here, here, newsletter } from '../support/explain.ts'

const submit = async (t: Here, ...asks: Ask[]) =>
  (
    await t.engine.submit(
      newsletter,
      asks.map(ask => ({ do: ask })),
    )
  ).id

/** The first `n` items are held by that worker. */
async function hold(t: Here, batch: string, n: number, worker: string): Promise<void> {
  await t.sql(
    `update retoma.job set state = 'running', attempt = 1, worker_id = $3, started_at = $4
     where id in (select id from retoma.job where batch_id = $1 and state = 'waiting' order by id limit $2)`,
    [batch, n, worker, t.clock.now()],
  )
  await t.sql(
    `insert into retoma.batch_count (batch_id, shard, started) values ($1, 16, $2)
     on conflict (batch_id, shard) do update set started = batch_count.started + excluded.started`,
    [batch, n],
  )
}

test('one that is over says what failed, and how to run that again', async () => {
  const t = await here()
  const [good, bad, empty] = [await submit(t, 'ok', 'skip'), await submit(t, 'ok', 'for good'), await submit(t)]
  await t.run()
  await t.clock.advance(minutes(1))
  expect(await t.said({ batch: good })).toEqual({
    verdict: 'ok',
    action: 'nothing',
    sentence: `batch ${good} has been over for 1 min: each of its 2 items has ended, none failed`,
    command: null,
  })
  expect(await t.said({ batch: bad })).toEqual({
    verdict: 'failed',
    action: 'retry_failed',
    sentence: `batch ${bad} has been over for 1 min: 1 of its 2 items failed`,
    command: `retoma batch retry-failed ${bad}`,
  })
  await t.tick()
  expect(await t.said({ batch: empty })).toMatchObject({
    verdict: 'ok',
    sentence: `batch ${empty} is over: it had no items`,
  })
})

test('one with items that were cancelled one by one is not succeeded, and says how many were cancelled', async () => {
  const t = await here()
  const [none, both] = [await submit(t, 'ok', 'ok', 'ok'), await submit(t, 'ok', 'for good')]
  const cancelFirst = async (batch: string) => t.engine.jobs.cancel((await t.engine.batches.items(batch)).items[0]!.id)
  await cancelFirst(none)
  await cancelFirst(both)
  await t.run()
  await t.clock.advance(minutes(1))
  expect(await t.engine.batch(none)).toMatchObject({ state: 'completed_with_failures', succeeded: 2, cancelled: 1 })
  expect(await t.said({ batch: none })).toEqual({
    verdict: 'cancelled',
    action: 'nothing',
    sentence: `batch ${none} has been over for 1 min: none of its items failed, 1 was cancelled`,
    command: null,
  })
  expect(await t.said({ batch: both })).toMatchObject({
    verdict: 'failed',
    sentence: `batch ${both} has been over for 1 min: 1 of its 2 items failed, 1 was cancelled`,
  })
  // The skip of the last failed item leaves the cancelled item.
  const [bad] = (await t.engine.batches.items(both, { state: 'failed' })).items
  await t.engine.jobs.skip(bad!.id, 'not needed')
  expect(await t.engine.batch(both)).toMatchObject({ state: 'completed_with_failures', skipped: 1, cancelled: 1 })
  expect(await t.engine.batches.retryFailed(none)).toMatchObject({ retried: 0, state: 'completed_with_failures' })
  const [cancelled] = (await t.engine.batches.items(none, { state: 'cancelled' })).items
  await t.engine.jobs.retry(cancelled!.id)
  await t.run()
  expect(await t.engine.batch(none)).toMatchObject({ state: 'succeeded', succeeded: 3, cancelled: 0 })
})

test('one that is being submitted says how far; when nothing comes any more, that its caller may have died', async () => {
  const t = await here()
  const id = await submit(t, 'ok', 'ok')
  await t.sql(`update retoma.batch set state = 'submitting', submitted_at = null`)
  await t.clock.advance(seconds(10))
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'ok',
    action: 'wait',
    sentence: `batch ${id} is being submitted: 2 items so far, the last 10 s ago`,
  })
  await t.clock.advance(minutes(5))
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'waiting',
    action: 'submit_again',
    command: `retoma batch cancel ${id}`,
  })
  await t.sql(`update retoma.batch set key = 'k', key_reserved = true`)
  expect(await t.said({ batch: id })).toMatchObject({ action: 'submit_again', command: null })
})

test('paused by a person or by its stopAfter, stalled with the resumes that are left, failed, cancelled', async () => {
  const t = await here()
  await t.worker('w')
  const id = await submit(t, 'ok', 'ok', 'ok')
  await hold(t, id, 1, 'w')
  await t.engine.batches.pause(id)
  expect(await t.said({ batch: id })).toEqual({
    verdict: 'paused',
    action: 'resume',
    sentence: `batch ${id} was paused by a person; 1 item still runs to its end`,
    command: `retoma batch resume ${id}`,
  })
  await t.sql(`update retoma.batch set reason = '{"code":"stop_after","failed":60,"ended":100}'`)
  expect((await t.said({ batch: id })).sentence).toContain(
    'was paused by its stopAfter: 60 of the 100 items that ended had failed',
  )
  await t.sql(`update retoma.batch set reason = '{"code":"provider","message":"401: key refused"}'`)
  expect((await t.said({ batch: id })).sentence).toContain('was paused: 401: key refused')
  await t.sql(`update retoma.batch set state = 'stalled', resumes = 1, reason = '{"code":"no_progress"}'`)
  expect(await t.said({ batch: id })).toEqual({
    verdict: 'stalled',
    action: 'resume',
    sentence: `batch ${id} is stalled and waits for a person: no item of it ended for too long; 1 of 2 resumes is left`,
    command: `retoma batch resume ${id}`,
  })
  await t.sql(`update retoma.batch set reason = '{"code":"no_worker"}', resumes = 2`)
  expect((await t.said({ batch: id })).sentence).toContain(
    'no worker was alive; the next stall after this one fails it',
  )
  await t.sql(
    `update retoma.batch set state = 'failed', finished_at = $1, cascade = 'fail', reason = '{"code":"no_progress"}'`,
    [ago(t, 60)],
  )
  expect((await t.said({ batch: id })).sentence).toContain('failed 1 min ago: no item of it ended for too long, and')
  await t.sql(`update retoma.batch set reason = '{"code":"resumes_spent","resumes":2}'`)
  expect(await t.said({ batch: id })).toEqual({
    verdict: 'failed',
    action: 'retry_failed',
    sentence: `batch ${id} failed 1 min ago: it stalled again after 2 resumes, and what had not ended failed with it; the last of its items follow in about 5 s`,
    command: `retoma batch retry-failed ${id}`,
  })
  await t.sql(`update retoma.batch set state = 'cancelled', cascade = 'cancel'`)
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'cancelled',
    action: 'wait',
    sentence: `batch ${id} was cancelled 1 min ago; the last of its items follow in about 5 s`,
  })
  await t.sql(`update retoma.batch set cascade = null`)
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'cancelled', action: 'nothing' })
  await t.sql(`update retoma.batch set state = 'succeeded', cascade = 'retry', cascade_place = '', cascade_id = 0`)
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'waiting', action: 'wait' })
})

test('one that waits: for a worker, for a time, for a slot, for its queue, for its turn', async () => {
  const t = await here()
  const id = await submit(t, 'ok', 'ok')
  expect(await t.said({ batch: id })).toEqual({
    verdict: 'starved',
    action: 'start_worker',
    sentence: `batch ${id} waits and nobody takes it: no worker is alive; 0 of 2 ended, 2 waiting`,
    command: 'retoma worker --queues mail',
  })
  await t.worker('w', { free_slots: '{"mail":1}' })
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'waiting',
    action: 'wait',
    sentence: expect.stringContaining('waits in line'),
  })
  await t.sql(`update retoma.worker set free_slots = '{"mail":0}'`)
  expect((await t.said({ batch: id })).sentence).toContain('waits for a free slot')
  await t.sql(`update retoma.job set run_at = $1`, [ago(t, -95)])
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'waiting',
    sentence: expect.stringContaining(
      'all that is left waits for a time (backoff, sleep or schedule), the first for 1 min 35 s more',
    ),
  })
  await t.sql(`update retoma.job set run_at = $1`, [t.clock.now()])
  await t.sql(`update retoma.worker set blocked_since = $1`, [ago(t, 9)])
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'hung', action: 'restart_worker' })
  await t.engine.queues.pause('mail')
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'paused',
    command: 'retoma queues resume mail',
  })
})

test('one that runs: its pace and counts; whose workers are dead, hung; without an end for too long', async () => {
  const t = await here()
  await t.worker('w')
  const id = await submit(t, ...Array.from({ length: 5 }, () => 'ok' as const), 'for good')
  await t.run()
  await t.sql(`update retoma.batch set state = 'running', finished_at = null, total = 10`)
  await t.sql(
    `insert into retoma.job (queue, kind, batch_id, state, claim_rank, run_at, input, created_at)
    select 'mail', 'send', $1, 'waiting', 9, $2, '{}', $2 from generate_series(1, 4)`,
    [id, t.clock.now()],
  )
  await hold(t, id, 2, 'w')
  await t.clock.advance(seconds(4))
  expect(await t.said({ batch: id })).toEqual({
    verdict: 'ok',
    action: 'wait',
    sentence: `batch ${id} runs, the last ended 4 s ago; 6 of 10 ended, 1 failed, 2 running, 2 waiting`,
    command: null,
  })
  await t.sql(`update retoma.batch set throughput_at = array[$1::timestamptz], throughput_done = '{0}'`, [ago(t, 4)])
  expect((await t.said({ batch: id })).sentence).toContain('runs at 1.5 items a second, about 3 s left, the last ended')
  await t.sql(`update retoma.batch set policy = policy || '{"stallAfter":3000}'`)
  expect((await t.said({ batch: id })).verdict).toBe('ok')
  await t.sql(`update retoma.batch set stall_clock_started_at = $1`, [ago(t, 9)])
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'slow',
    sentence: expect.stringContaining('no item of it has ended for 4 s: 3 s of work without an end make it stalled'),
  })
  await t.sql(`update retoma.worker set blocked_since = $1, blocked_job = 77, blocked_stack = 'at spin'`, [ago(t, 8)])
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'hung',
    action: 'restart_worker',
    sentence: `batch ${id} is held up: the event loop of worker "w", which runs 2 of its items, has been blocked for 8 s by job 77`,
  })
  expect((await t.engine.explain({ batch: id })).facts).toMatchObject({
    runners: [{ items: 2, worker: { stack: 'at spin' } }],
  })
  await t.sql(`update retoma.worker set dead_at = $1`, [t.clock.now()])
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'orphan', action: 'wait' })
  await t.clock.advance(minutes(2))
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'orphan', action: 'start_worker', command: 'retoma up' })
})

test('a batch that waited for hours and has just started is not blamed for those hours', async () => {
  const t = await here()
  await t.worker('w')
  const id = await submit(t, 'ok', 'ok')
  await t.sql(`update retoma.batch set policy = policy || '{"stallAfter":300000}'`)
  await t.engine.queues.pause('mail')
  await t.clock.advance(minutes(120))
  await t.engine.queues.resume('mail')
  await t.worker('w2')
  await hold(t, id, 1, 'w2')
  const watched = async (seconds_: number) => {
    for (let passed = 0; passed < seconds_; passed += 5) {
      await t.tick()
      await t.clock.advance(seconds(5))
      await t.sql(`update retoma.worker set heartbeat_at = $1`, [t.clock.now()])
    }
    return t.said({ batch: id })
  }
  for (const after of [0, 10, 60])
    expect(await watched(after)).toMatchObject({
      verdict: 'ok',
      sentence: `batch ${id} runs, none has ended yet; 0 of 2 ended, 1 running, 1 waiting`,
    })
})

test('a failed item of a cancelled batch is not sent to a retry that is refused', async () => {
  const t = await here()
  const id = await submit(t, 'for good', 'snooze')
  await t.run()
  await t.engine.batches.cancel(id)
  const [failed] = await t.sql<{ id: string }>(`select id from retoma.job where state = 'failed'`)
  expect(await t.said(failed!.id)).toMatchObject({ verdict: 'failed', action: 'look_at_failures' })
  await expect(t.engine.jobs.retry(failed!.id)).rejects.toMatchObject({ code: 'batch_cancelled' })
})

test('a live worker among many dead ones is not passed over', async () => {
  const t = await here()
  const id = await submit(t, ...Array.from({ length: 8 }, () => 'ok' as const))
  for (let i = 0; i < 7; i++) {
    await t.worker(`dead-${i}`, { dead_at: t.clock.now() })
    await hold(t, id, 1, `dead-${i}`)
  }
  await t.worker('z')
  await hold(t, id, 1, 'z')
  expect(await t.said({ batch: id })).toMatchObject({ verdict: 'ok' })
})

test('one whose last items are stalled waits for a person; one whose items have all ended, for the next check', async () => {
  const t = await here()
  await t.worker('w')
  const id = await submit(t, 'ok')
  await t.sql(`update retoma.job set state = 'stalled'`)
  await t.sql(`insert into retoma.batch_count (batch_id, shard, stalled) values ($1, 0, 1)`, [id])
  await t.sql(`update retoma.batch set state = 'running'`)
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'stalled',
    action: 'resume',
    command: `retoma batch items ${id} --state stalled`,
  })
  await t.sql(`update retoma.job set state = 'succeeded', finished_at = $1`, [t.clock.now()])
  await t.sql(`update retoma.batch_count set stalled = 0, succeeded = 1`)
  expect(await t.said({ batch: id })).toMatchObject({
    verdict: 'ok',
    sentence: `batch ${id} is at its end: every item has ended, and that is noted in about 5 s`,
  })
})

test('where batches take turns, it says how many jobs of others start before its last, and in about how long', async () => {
  const t = await here()
  await t.worker('w')
  await t.engine.queues.setLimits('mail', { fair: 'batch' })
  const many = (n: number) => Array.from({ length: n }, () => ({ do: 'ok' as const }))
  const [small, heavy, urgent] = [
    (await t.engine.submit(newsletter, many(5))).id,
    (await t.engine.submit(newsletter, many(40), { weight: 3 })).id,
    (await t.engine.submit(newsletter, many(7), { priority: 0 })).id,
  ]
  await t.engine.submit(newsletter, many(9), { priority: 9 })
  expect((await t.engine.explain({ batch: small })).facts.turn).toEqual({ batches: 2, jobs: 22, seconds: null })
  expect((await t.engine.explain({ batch: urgent })).facts.turn).toEqual({ batches: 0, jobs: 0, seconds: null })
  // Two items a second ended since the sample.
  await t.sql(
    `update retoma.batch set throughput_at = array[$2::timestamptz - interval '10 seconds'], throughput_done = '{0}' where id = $1`,
    [heavy, t.clock.now()],
  )
  await t.sql(`insert into retoma.batch_count (batch_id, shard, succeeded) values ($1, 0, 20)`, [heavy])
  const { facts, sentence } = await t.engine.explain({ batch: small })
  expect(facts.turn).toEqual({ batches: 2, jobs: 22, seconds: 14 })
  expect(sentence).toContain(
    '; it takes turns with 2 other batches: about 22 jobs of others start before its last, in about 14 s',
  )
  await t.engine.queues.setLimits('mail', {})
  expect((await t.engine.explain({ batch: small })).facts.turn).toBeNull()
})
