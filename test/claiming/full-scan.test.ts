/** Sweeps from the start of a lane, by turns: a late commit behind the mark is found, and not by everybody each time. */
import { expect, test } from 'vitest'
import { Claimer } from '../../src/claiming/claimer.ts'
import type { Db } from '../../src/database/db.ts'
import { enqueueJobs } from '../../src/enqueue/enqueue.sql.ts'
import type { Clock } from '../../src/lib/clock.ts'
import { at, newJob, storeForFile } from '../support/store.ts'

const store = storeForFile()

/** A claimer whose every statement takes so many milliseconds, and what it asked from the start. */
function claimer(costMs: number, shared = { ms: 0 }) {
  const sweeps: number[] = []
  const clock = { instant: () => at(shared.ms / 1000), elapsed: () => shared.ms } as Clock
  const run: Db['run'] = async (statement, values) => {
    shared.ms += costMs
    const froms = statement.name === 'claim' ? (values[4] as string[]) : ['']
    if (froms.every(from => from === '-infinity')) sweeps.push(shared.ms)
    return store.db.run(statement, values)
  }
  const one = new Claimer({ ...store.db, run }, clock, { kinds: ['k'] })
  return { sweeps, shared, claim: async () => (await one.claim('w', [{ queue: 'q', want: 1 }])).map(each => each.id) }
}

const enqueue = async (seconds: number) => {
  const [made] = await enqueueJobs(store.db.run, [newJob()], at(seconds))
  return made!.id
}

test('of several workers whose sweeps cost something one has the turn, and each sweeps after half a minute anyway', async () => {
  await store.worker('w')
  await store.sql(`insert into retoma.queue (name) values ('q')`)
  const shared = { ms: 0 }
  const [a, b] = [claimer(100, shared), claimer(100, shared)]
  // Each has a mark, and knows what a sweep costs: twenty times that is two seconds.
  for (const each of [a, b]) {
    await enqueue(shared.ms / 1000)
    await each.claim()
  }
  a.sweeps.length = b.sweeps.length = 0
  while (shared.ms < 29_000) {
    shared.ms += 500
    await a.claim()
    await b.claim()
  }
  const all = a.sweeps.length + b.sweeps.length
  expect(all).toBeGreaterThan(8)
  expect(all).toBeLessThan(16)
  b.sweeps.length = 0
  while (shared.ms < 95_000) {
    shared.ms += 250
    await a.claim()
    shared.ms += 250
    await b.claim()
  }
  expect(b.sweeps.length).toBeGreaterThanOrEqual(2)
})

test('a commit that came late, behind the mark, is found by the next sweep', async () => {
  await store.worker('w')
  const one = claimer(1)
  const early = await enqueue(-60)
  const first = await enqueue(0)
  await store.sql(`update retoma.job set state = 'stalled' where id = $1`, [early])
  expect(await one.claim()).toEqual([first])
  await store.sql(`update retoma.job set state = 'waiting' where id = $1`, [early])
  one.shared.ms += 900
  expect(await one.claim()).toEqual([])
  one.shared.ms += 200
  expect(await one.claim()).toEqual([early])
})
