/** `retryWhileDatabaseAway` inside a handler: over a real connection that is cut and mended. */
import { expect, test } from 'vitest'
import { createEngine, RetomaError, retryWhileDatabaseAway } from '../../src/index.ts'
import { borrowDatabase } from '../support/engine.ts'
import { linkTo } from '../support/link.ts'
import { onTestFinished } from '../support/together.ts'

test('a call of the engine is repeated until the database is back; an abort ends the wait with its reason; other errors are thrown at once', async () => {
  const { url, giveBack } = await borrowDatabase()
  onTestFinished(giveBack)
  const link = await linkTo(url)
  const engine = await createEngine({ databaseUrl: link.url, log: false })
  onTestFinished(() => engine.close())
  const never = new AbortController().signal
  link.cut()
  let calls = 0
  const one = () => {
    calls++
    if (calls === 3) link.mend()
    return engine.query<{ one: number }>('select 1 as one')
  }
  expect((await retryWhileDatabaseAway(engine, one, never)).rows).toEqual([{ one: 1 }])
  expect(calls).toBeGreaterThanOrEqual(3)

  link.cut()
  const over = new AbortController()
  const waiting = retryWhileDatabaseAway(engine, () => engine.query('select 1'), over.signal)
  over.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  link.mend()

  let asked = 0
  const refuses = async () => {
    asked++
    throw new RetomaError('queue_full', { queue: 'q', waiting: 1, most: 1, seconds: 1 })
  }
  await expect(retryWhileDatabaseAway(engine, refuses, never)).rejects.toMatchObject({ code: 'queue_full' })
  expect(asked).toBe(1)
})
