/** How to test your own jobs: a real PostgreSQL, a clock you move, a worker that works when told to. */
import { seconds } from 'retoma'
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
