/** The policy override of a batch in the attempts of a worker and in views; and the options of `submit` for a batch. */
import { expect, test } from 'vitest'
import { presets } from '../../apps/presets.ts'
import { createBatch } from '../../src/batches/sql/submit-batch.ts'
import { defineBatch, defineJob, isRetomaError, type LimitsByQueue, minutes, seconds } from '../../src/index.ts'
import { aborted, engineOf, timePasses } from '../support/engine.ts'
import { ago, here, newsletter } from '../support/explain.ts'
import { linkLost } from '../support/faulty-db.ts'
import { faultyWorker } from '../support/faulty-worker.ts'

/** Fails, or hangs until its signal aborts; notes when each of its tries began. */
function documents() {
  const tries = new Map<string, number[]>()
  const job = defineJob<string>({
    ...presets.classifier,
    backoff: { first: seconds(5), factor: 2, jitter: 0 },
    kind: 'document',
    run: async (ctx, what) => {
      tries.set(what, [...(tries.get(what) ?? []), now()])
      if (what.startsWith('hang')) throw await aborted(ctx.signal)
      throw new Error('no')
    },
  })
  let now = () => 0
  const batch = defineBatch({ ...presets.classification, name: 'execution', job, items: { maxAttempts: 2 } })
  return {
    job,
    batch,
    /** Seconds from each try to the next. */
    waits: (what: string) =>
      tries
        .get(what)!
        .map((at, i, all) => (i === 0 ? 0 : (at - all[i - 1]!) / 1000))
        .slice(1),
    tries: (what: string) => tries.get(what)?.length ?? 0,
    begin: async (limits: LimitsByQueue = {}) => {
      const t = await engineOf({ batches: [batch], limits })
      now = () => t.clock.elapsed()
      await t.engine.work({ queues: { default: 10 } })
      const over = (id: string) => timePasses(t.clock, async () => (await t.engine.batch(id))!.finishedAt !== null)
      return { ...t, over }
    },
  }
}

test('an item is tried as often as its submit says, or its batch, or else its kind', async () => {
  const { job, batch, tries, begin } = documents()
  const { engine, clock, over } = await begin()
  const { id: most } = await engine.submit(batch, ['of the submit'], { items: { maxAttempts: 5 } })
  const { id: some } = await engine.submit(batch, ['of the batch'])
  const { id: kind } = await engine.enqueue(job, 'of the kind')
  await over(most)
  await over(some)
  await timePasses(clock, async () => (await engine.job(kind))!.state === 'failed')
  expect([tries('of the submit'), tries('of the batch'), tries('of the kind')]).toEqual([5, 2, 3])
})

test('it backs off as its batch says, and what that does not say is as its kind does', async () => {
  const { batch, waits, begin } = documents()
  const { engine, over } = await begin()
  const { id } = await engine.submit(batch, ['x'], { items: { maxAttempts: 4, backoff: { first: seconds(30) } } })
  await over(id)
  for (const [i, wait] of [30, 60, 120].entries()) {
    expect(waits('x')[i]).toBeGreaterThanOrEqual(wait)
    expect(waits('x')[i]).toBeLessThanOrEqual(wait + 1)
  }
})

test('it has the time its batch gives it, whether that is more or less than its kind does', async () => {
  const { batch, begin } = documents()
  const { engine, clock, over } = await begin()
  const begun = clock.elapsed()
  const short = await engine.submit(batch, ['hang 1'], { items: { maxAttempts: 1, timeout: seconds(20) } })
  const long = await engine.submit(batch, ['hang 2'], { items: { maxAttempts: 1, timeout: minutes(4) } })
  await over(short.id)
  expect(clock.elapsed() - begun).toBeLessThan(seconds(25))
  const [item] = (await engine.batches.items(short.id)).items
  expect(item!.error).toMatchObject({ code: 'attempt_timeout', message: expect.stringContaining('20 s') })
  await over(long.id)
  expect(clock.elapsed() - begun).toBeGreaterThanOrEqual(minutes(4))
  expect(clock.elapsed() - begun).toBeLessThan(minutes(4) + seconds(5))
})

test('the same holds in a queue with limits', async () => {
  const { batch, tries, begin } = documents()
  const { engine, over } = await begin({ default: { concurrency: 1 } })
  const { id } = await engine.submit(batch, ['x'], { items: { maxAttempts: 4 } })
  await over(id)
  expect(tries('x')).toBe(4)
})

test('it is read once for each batch; where it cannot be read nothing of the batch starts, and its jobs go back', async () => {
  const { db, real, clock, begin, enqueue, sql, row, settles, runs } = await faultyWorker({
    run: () => {
      throw new Error('no')
    },
  })
  const policy = { ...defineBatch({ name: 'b', job: documents().job }).policy, items: { maxAttempts: 1 } }
  const made = { name: 'b', key: null, kind: 'k', queue: 'q', priority: 4, policy }
  const { id: batch } = await createBatch(real, made, clock.instant())
  const put = async () => {
    const id = await enqueue({ delayMs: 1000 })
    await sql(`update retoma.job set batch_id = $2 where id = $1`, [id, batch])
    return id
  }
  const reads = () => db.asked.filter(each => each === 'policy_override_read').length
  const items = [await put(), await put()]
  db.fail('policy_override_read', 'before', linkLost())
  await begin()
  for (const id of items) {
    await settles(id)
    expect(await row(id)).toMatchObject({ state: 'failed', attempt: 2, failures: 1, restarts: 0 })
  }
  expect(runs.map(each => each.attempt)).toEqual([2, 2])
  expect(reads()).toBe(2)
  await settles(await put())
  await settles(await enqueue())
  expect(reads()).toBe(2)
})

test('a second submit with the same key keeps the policy of the first', async () => {
  const { batch, tries, begin } = documents()
  const { engine, over } = await begin()
  const first = await engine.submit(batch, ['x'], { key: 'k', maxResumes: 7, items: { maxAttempts: 4 } })
  const second = await engine.submit(batch, ['x'], { key: 'k', maxResumes: 1, items: { maxAttempts: 1 } })
  expect(second).toEqual({ ...first, created: false })
  expect(await engine.batch(first.id)).toMatchObject({ maxResumes: 7 })
  await over(first.id)
  expect(tries('x')).toBe(4)
})

test('what one submit asks for its batch holds for that one: stallAfter, onStall, maxResumes, stopAfter', async () => {
  const { batch, begin } = documents()
  const { engine, clock, over } = await begin()
  const begun = clock.elapsed()
  const items = { timeout: minutes(30) }
  const never = await engine.submit(batch, ['hang never'], { stallAfter: null, items })
  const soon = await engine.submit(batch, ['hang soon'], { stallAfter: minutes(1), maxResumes: 0, items })
  const fails = await engine.submit(batch, ['hang fails'], { stallAfter: minutes(1), onStall: 'fail', items })
  const stops = await engine.submit(batch, ['a', 'b'], {
    stopAfter: { failures: 1 },
    items: { maxAttempts: 1 },
    each: what => (what === 'a' ? {} : { delay: minutes(1) }),
  })
  const plain = await engine.submit(batch, ['hang plain'], { items })
  const stateOf = async ({ id }: { id: string }) => (await engine.batch(id))!
  await over(soon.id)
  expect(clock.elapsed() - begun).toBeLessThan(minutes(1) + seconds(30))
  expect(await stateOf(soon)).toMatchObject({ state: 'failed', maxResumes: 0, reason: { code: 'resumes_spent' } })
  await over(fails.id)
  expect((await stateOf(fails)).reason).not.toMatchObject({ code: 'resumes_spent' })
  expect(await stateOf(stops)).toMatchObject({ state: 'paused', failed: 1 })
  expect((await stateOf(plain)).state).toBe('running')
  await clock.advance(minutes(6))
  expect(await stateOf(plain)).toMatchObject({ state: 'stalled', maxResumes: 3 })
  expect((await stateOf(never)).state).toBe('running')
})

test('a submit with a wrong option is refused with its name, and leaves no batch behind', async () => {
  const { batch } = documents()
  const { engine } = await engineOf({ batches: [batch] })
  const refusal = (options: object) =>
    engine
      .submit(batch, ['x'], options as never)
      .catch(error => (isRetomaError(error, 'bad_option') ? error.message : error))
  expect(await refusal({ maxResume: 1 })).toMatch(/the option maxResume .* did you mean "maxResumes"\?/)
  expect(await refusal({ item: {} })).toMatch(/the option item .* did you mean "items"\?/)
  expect(await refusal({ items: { atempts: 1 } })).toMatch(/"items\.atempts", did you mean "maxAttempts"\?/)
  expect(await refusal({ items: { maxAttempts: 0 } })).toMatch(
    /items\.maxAttempts must be a whole number from 1 to 1000000, not 0/,
  )
  expect(await refusal({ maxResumes: 0.5 })).toMatch(/the option maxResumes/)
  expect(await engine.batches.list()).toMatchObject({ items: [] })
})

test('what is said of an item names what holds for it: its tries, its timeout, its age', async () => {
  const t = await here()
  await t.worker('w')
  const items = { maxAttempts: 9, timeout: minutes(1), stallAfter: null, expect: null, maxAge: minutes(30) }
  const { id: batch } = await t.engine.submit(newsletter, [{ do: 'fail' }, { do: 'fail' }], { items })
  const ids = (await t.engine.batches.items(batch)).items.map(each => each.id)
  await t.run()
  await t.clock.advance(seconds(10))
  await t.sql(`update retoma.worker set heartbeat_at = $1`, [t.clock.now()])
  expect((await t.said(ids[0]!)).sentence).toContain('failure 1 of 9, SMTP said 451')
  await t.sql(`update retoma.job set state = 'running', worker_id = 'w', started_at = $2 where id = $1`, [
    ids[0],
    ago(t, 80),
  ])
  expect((await t.said(ids[0]!)).sentence).toContain('past its timeout of 1 min')
  await t.sql(`update retoma.job set created_at = $2 where id = $1`, [ids[0], ago(t, 1900)])
  expect((await t.said(ids[0]!)).sentence).toContain('more than its maxAge of 30 min')
})
