/**
 * Tests jobs of an application: a real PostgreSQL, a clock which the test advances, and a worker which runs on
 * demand.
 */
import { defineJob, minutes, seconds } from 'retoma'
import { testEngine } from 'retoma/testing'
import { expect, test } from 'vitest'
import { remindOf } from './invoice.ts'

test('a reminder goes out although the mail server is down at first', async () => {
  let down = true
  const sent: string[] = []
  const remind = remindOf({
    async send(to) {
      if (down) throw new Error('451 try again later')
      sent.push(to)
    },
  })

  await using t = await testEngine({ jobs: [remind] })
  const { id } = await t.engine.enqueue(remind, { number: 'A-17', email: 'ana@example.com' })

  await t.run() // works until nothing is ready
  expect(await t.engine.job(id)).toMatchObject({ state: 'waiting', failures: 1 })

  down = false
  await t.clock.advance(seconds(30)) // no test sleeps
  await t.run()
  expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', result: { sentTo: 'ana@example.com' } })
  expect(sent).toEqual(['ana@example.com'])
})

test('a job that makes no progress is stalled, and the person who resumes it finds it where it was', async () => {
  let hangs = true
  let began = () => {}
  const hasBegun = new Promise<void>(resolve => {
    began = resolve
  })
  const sync = defineJob({
    kind: 'sync',
    stallAfter: minutes(5),
    timeout: minutes(60),
    async run(ctx) {
      await ctx.step('first page', () => 1)
      if (!hangs) return 'done'
      began()
      await new Promise(resolve => ctx.signal.addEventListener('abort', resolve)) // a bank that does not answer
      throw ctx.signal.reason
    },
  })

  await using t = await testEngine({ jobs: [sync] })
  const { id } = await t.engine.enqueue(sync, undefined)

  t.engine.watch() // the watchdog looks whenever the clock has moved on by five seconds
  const running = t.run()
  await hasBegun
  await t.clock.advance(minutes(4)) // the heartbeats follow the clock, so the worker is not declared dead
  expect(await t.engine.job(id)).toMatchObject({ state: 'running' })
  await t.clock.advance(minutes(2))
  expect(await t.engine.job(id)).toMatchObject({ state: 'stalled' })
  await t.clock.advance(seconds(10)) // at the next heartbeat the worker learns of the lost lease
  await running

  hangs = false
  await t.engine.jobs.resume(id)
  await t.run()
  expect(await t.engine.job(id)).toMatchObject({ state: 'succeeded', result: 'done' })
})
