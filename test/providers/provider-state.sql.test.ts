/** The rows of providers and of the batches that wait for a provider, under concurrent writes. */
import { expect, test } from 'vitest'
import { armProbes, pauseBatches, resumeBatches } from '../../src/batches/sql/provider-pauses.ts'
import { claimJobs, releaseClaims } from '../../src/claiming/sql/claim.ts'
import { recordProviderWord } from '../../src/providers/sql/provider-state.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const asker = { job: '1', kind: 'k', batch: null }
const ask = (name: string, second: number, job = '1') =>
  recordProviderWord(store.db, name, { job, kind: 'k', batch: null }, { how: 'ask' }, at(second))
const askedAt = async (second: number) => {
  const stand = await ask('never', second)
  if (stand.how !== 'open') throw new Error('it waits')
  return stand.asked
}
const stop = async (name: string, asked: number, second: number) =>
  recordProviderWord(
    store.db,
    name,
    asker,
    { how: 'stop', asked: await askedAt(asked), code: '402', message: 'no credit' },
    at(second),
  )

/** A batch whose jobs a worker holds. */
async function held(count: number): Promise<{ id: string; attempt: number }[]> {
  await store.putMany(count, 'waiting')
  await store.sql(
    `insert into retoma.batch (id, name, kind, queue, policy, state, priority, total, created_at, submitted_at)
     values (1, 'b', 'k', 'q', '{}', 'running', 4, $1, $2, $2)`,
    [count, at(0)],
  )
  await store.sql(`insert into retoma.queue (name) values ('q') on conflict do nothing`)
  await store.sql(`update retoma.job set batch_id = 1`)
  await store.sql(
    `insert into retoma.worker (id, host, pid, version, queues, kinds, started_at, heartbeat_at) values ('w', 'h', 1, '0', '{"q": 50}', '{k}', $1, $1)`,
    [at(0)],
  )
  return claimJobs(store.db, { wants: [{ queue: 'q', want: count }], kinds: ['k'], worker: 'w' }, at(1))
}
const reasonOf = (n: number) => JSON.stringify({ code: 'provider', provider: 'p', message: `words ${n}` })

test('twenty who pause one batch at once pause it once, and one reason stays', async () => {
  const jobs = await held(20)
  await stop('p', 1, 1)
  const paused = await Promise.all(
    jobs.map(({ id, attempt }, n) => pauseBatches(store.db, 'w', [{ id, attempt, reason: reasonOf(n) }], at(1))),
  )
  expect(paused.flat()).toEqual([{ id: '1', queue: 'q' }])
  expect(await store.sql(`select data from retoma.event where batch_id = 1`)).toHaveLength(1)
  // And all of them in one flush likewise.
  expect(
    await pauseBatches(
      store.db,
      'w',
      jobs.map((job, n) => ({ ...job, reason: reasonOf(n) })),
      at(2),
    ),
  ).toEqual([])
})

test('only who holds a job of it pauses a batch, and only for a provider that is stopped', async () => {
  const [job] = await held(1)
  const pausing = { id: job!.id, attempt: job!.attempt, reason: reasonOf(1) }
  expect(await pauseBatches(store.db, 'w', [pausing], at(1))).toEqual([])
  await stop('p', 1, 1)
  expect(await pauseBatches(store.db, 'another', [pausing], at(1))).toEqual([])
  expect(await pauseBatches(store.db, 'w', [{ ...pausing, attempt: pausing.attempt + 1 }], at(1))).toEqual([])
  expect(await pauseBatches(store.db, 'w', [pausing], at(1))).toEqual([{ id: '1', queue: 'q' }])
})

test('one of twenty who ask a stopped provider when its minute is over is let through', async () => {
  await stop('p', 1, 1)
  expect(await ask('p', 60)).toMatchObject({ how: 'stopped', ms: 1000 })
  const stands = await Promise.all(Array.from({ length: 20 }, (_, n) => ask('p', 61, String(n + 1))))
  expect(stands.filter(each => each.how === 'open')).toHaveLength(1)
  expect(await ask('p', 120)).toMatchObject({ how: 'stopped' })
  expect(await ask('p', 122)).toMatchObject({ how: 'open' })
})

test('twenty watchdogs give one job the pass, and have a batch go on once', async () => {
  const [job, ...others] = await held(3)
  await stop('p', 1, 1)
  await pauseBatches(store.db, 'w', [{ ...job!, reason: reasonOf(1) }], at(1))
  await releaseClaims(store.db, 'w', [job!, ...others], at(2))
  expect(await store.sql(`select distinct attempt - uncounted_attempts as starts from retoma.job`)).toEqual([
    { starts: 0 },
  ])
  const claim = (second: number) =>
    claimJobs(store.db, { wants: [{ queue: 'q', want: 10 }], kinds: ['k'], worker: 'w' }, at(second))
  expect(await claim(30)).toEqual([])
  const armed = await Promise.all(Array.from({ length: 20 }, () => armProbes(store.db, at(62))))
  expect(armed.flat()).toEqual(['q'])
  expect((await claim(62)).map(each => each.id)).toEqual([job!.id])
  expect(await resumeBatches(store.db, at(63))).toEqual([])
  const stand = await ask('p', 63, job!.id)
  expect(stand).toMatchObject({ how: 'open', owed: expect.any(String) })
  const owed = stand.how === 'open' ? stand.owed! : ''
  expect(await recordProviderWord(store.db, 'p', asker, { how: 'answered', owed }, at(64))).toMatchObject({
    stopEnded: true,
  })
  expect(await recordProviderWord(store.db, 'p', asker, { how: 'answered', owed }, at(64))).toMatchObject({
    stopEnded: false,
  })
  const went = await Promise.all(Array.from({ length: 20 }, () => resumeBatches(store.db, at(64))))
  expect(went.flat()).toEqual([{ id: '1', queue: 'q' }])
  expect(await claim(65)).toHaveLength(2)
})

test('an answer ends only what had been said when it was asked', async () => {
  const wait = async (asked: number, second: number) =>
    recordProviderWord(
      store.db,
      'p',
      asker,
      { how: 'wait', asked: await askedAt(asked), retryAfterMs: null, neverStops: false, code: null, message: '' },
      at(second),
    )
  await wait(1, 1)
  const stand = await ask('p', 7)
  const owed = stand.how === 'open' ? stand.owed! : ''
  // Another was asked as well, and has been told to wait.
  expect(await wait(7, 8)).toMatchObject({ how: 'waiting', ms: 2000 })
  await recordProviderWord(store.db, 'p', asker, { how: 'answered', owed }, at(8))
  expect(await ask('p', 9)).toMatchObject({ how: 'waiting', ms: 1000 })
  // And what was asked long ago makes no wait longer, unless it says for how long.
  expect(await wait(1, 9)).toMatchObject({ how: 'waiting', ms: 1000 })
})
