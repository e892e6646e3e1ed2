/** The statements that an idle engine sends to the database. */
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { defineJob, seconds } from '../../src/index.ts'
import { engineWith } from '../support/engine.ts'

test('an idle worker with watchdog and janitor does less than a statement a second', async () => {
  const { engine, clock } = await engineWith(defineJob({ kind: 'never', run: () => 1 }))
  await engine.work()
  await clock.advance(seconds(10))
  const query = vi.spyOn(pg.Client.prototype, 'query')
  await clock.advance(seconds(120))
  const asked = new Map<string, number>()
  for (const [given] of query.mock.calls) {
    const name = (given as unknown as { name?: string }).name ?? String(given)
    asked.set(name, (asked.get(name) ?? 0) + 1)
  }
  query.mockRestore()
  const total = [...asked.values()].reduce((sum, n) => sum + n, 0)
  expect(total, JSON.stringify(Object.fromEntries(asked))).toBeLessThan(120)
  expect(asked.get('worker_check')).toBe(24)
})
