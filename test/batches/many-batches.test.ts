/** The watchdog reads open batches in pages of 500. */
import { expect, test } from 'vitest'
import { batchTick } from '../../src/batches/batch-tick.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

test('the watchdog checks every open batch once in each tick, with more than 500 and more than 1,000 of them', async () => {
  for (const count of [501, 1203]) {
    await store.sql('delete from retoma.batch')
    const rows = await store.sql<{ id: string }>(
      `insert into retoma.batch as b (id, name, kind, queue, policy, priority, state, created_at)
       select n, 'b', 'k', 'q', '{}', 4, 'running', now() from generate_series(95, 94 + $1::int) n
       returning b.id::text as id`,
      [count],
    )
    const seen: string[] = []
    const ask = async (ids: readonly string[]) => void seen.push(...ids)
    await batchTick({ db: store.db, clock: new VirtualClock(), leasesEnded: () => {}, checkCompletion: ask })
    expect(seen).toEqual(rows.map(each => each.id).toSorted((a, b) => Number(a) - Number(b)))
  }
})
