/** Unit tests of a job on the virtual clock: backoff, a delay of a day, and a stall. No test waits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { days, defineJob, minutes, seconds } from 'retoma'
import { testEngine } from 'retoma/testing'

test('a reminder is sent a day later, and again 30 s after a failure', async () => {
  const sent: string[] = []
  const remind = defineJob({
    kind: 'remind',
    backoff: { first: seconds(30), jitter: 0 },
    run: (ctx, { to }: { to: string }) => {
      if (ctx.attempt === 1) throw new Error('the mail server does not answer')
      sent.push(to)
    },
  })
  await using t = await testEngine({ jobs: [remind] })
  const { id } = await t.engine.enqueue(remind, { to: 'ana' }, { delay: days(1) })
  assert.equal(await t.run(), 0)
  await t.clock.advance(days(1))
  assert.equal(await t.run(), 1)
  await t.clock.advance(seconds(29))
  assert.equal(await t.run(), 0)
  await t.clock.advance(seconds(1))
  assert.equal(await t.run(), 1)
  assert.deepEqual(sent, ['ana'])
  assert.equal((await t.engine.job(id))?.state, 'succeeded')
})

test('a job without progress for five minutes is stalled, and a person resumes it', async () => {
  let isAnswering = false
  const sync = defineJob({
    kind: 'sync',
    stallAfter: minutes(5),
    timeout: minutes(30),
    run: ctx =>
      isAnswering
        ? 'synced'
        : new Promise<string>((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))),
  })
  await using t = await testEngine({ jobs: [sync] })
  const { id } = await t.engine.enqueue(sync)
  t.engine.watch()
  const running = t.run()
  await t.clock.advance(minutes(6))
  assert.equal((await t.engine.job(id))?.state, 'stalled')
  assert.match((await t.engine.explain({ job: id })).sentence, /progress/)
  await t.clock.advance(seconds(10))
  await running

  isAnswering = true
  await t.engine.jobs.resume(id)
  await t.run()
  assert.equal((await t.engine.job(id, sync))?.result, 'synced')
})
