/** A process that dies, or is cut off, at any point of a check: every row is marked once, with one job, and counted once. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createGuards } from '../../src/guards/guard-tick.ts'
import { winTurn } from '../../src/guards/sql/guard-runs.ts'
import { defineGuard, defineJob, minutes } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import { VirtualClock } from '../../src/testing/index.ts'
import { faulty, linkLost } from '../support/faulty-db.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const again = defineJob({ kind: 'again', run: (_, input: { id: number }) => input.id })
const guard = defineGuard({
  name: 'docs',
  table: 'docs',
  status: { column: 'status', running: 'PROCESSING' },
  signal: 'at',
  after: minutes(10),
  limit: 2,
  set: { status: 'PENDING' },
  enqueue: { job: again, input: row => ({ id: row.id as number }) },
})

let clock: VirtualClock
beforeEach(async () => {
  clock = new VirtualClock(at(601))
  await store.sql(`create table docs (id int primary key, status text, at timestamptz)`)
  await store.sql(`insert into docs select i, 'PROCESSING', $1 from generate_series(1, 5) i`, [at(0)])
  onTestFinished(async () => void (await store.sql('drop table docs')))
})

/** A process with that guard, and faults between it and the database. */
function process() {
  const db = faulty(store.another())
  const shown: string[] = []
  const { tick } = createGuards({ db, clock, log: silentLog, guards: [guard], fired: queue => void shown.push(queue) })
  return { db, tick, shown }
}

/** In every moment: as many jobs as rows that were marked, and as many counted. */
async function marked(): Promise<number> {
  const [found] = await store.sql<{ rows: number; jobs: number; different: number; total: number }>(`
    select (select count(*) from docs where status = 'PENDING')::int as rows, count(*)::int as jobs,
      count(distinct input)::int as different, coalesce((select total from retoma.guard), 0)::int as total
    from retoma.job`)
  const { rows, jobs, different, total } = found!
  expect({ jobs, different, total }).toEqual({ jobs: rows, different: rows, total: rows })
  return rows
}

const points = ['transaction', ...[1, 2, 3, 4].map(n => `transaction.${n}`)]

describe('a check that is cut off', () => {
  test.each([
    ...points.map(point => [point, 'before'] as const),
    ...points.slice(1).map(point => [point, 'after'] as const),
  ])('at %s, %s it: has done nothing by halves, and the next sweep does the rest', async (point, when) => {
    const { db, tick } = process()
    db.fail(point, when, linkLost())
    await tick().catch(() => {})
    expect(await marked()).toBe(0)
    await clock.advance(minutes(1))
    await process().tick()
    expect(await marked()).toBe(5)
  })

  test('after a commit, unheard: is gone on with, and no row is marked again', async () => {
    const { db, tick } = process()
    db.fail('transaction', 'after', linkLost())
    await tick().catch(() => {})
    expect(await marked()).toBe(2)
    await clock.advance(minutes(1))
    await tick()
    expect(await marked()).toBe(5)
  })

  test.each(['guard_due', 'guard_win_sweep', 'guard_table', 'guard_write_result'])(
    'at %s: the next check does it',
    async statement => {
      for (const when of ['before', 'after'] as const) {
        const { db, tick } = process()
        db.fail(statement, when, linkLost())
        await tick().catch(() => {})
        await marked()
        await clock.advance(minutes(1))
      }
      await process().tick()
      expect(await marked()).toBe(5)
    },
  )
})

test('a check that the database was away for is gone on with as soon as it is back, by the process that won it', async () => {
  const { db, tick } = process()
  db.fail('transaction.2', 'before', linkLost())
  await expect(tick()).rejects.toMatchObject({ code: 'database_unreachable' })
  await tick()
  expect(await marked()).toBe(5)
})

test('its workers are reported the jobs it made', async () => {
  const { tick, shown } = process()
  await tick()
  expect(shown).toEqual(['default'])
})

test('who comes while another sweeps writes nothing and waits for nobody', async () => {
  const [first, second] = [process(), process()]
  await first.tick()
  const before = await store.sql(`select ctid, xmin from retoma.guard`)
  await second.tick()
  expect(await winTurn(store.db, guard, clock.instant())).toBe(false)
  expect(await store.sql(`select ctid, xmin from retoma.guard`)).toEqual(before)
  expect(second.db.asked).toEqual(['guard_due'])
})

test('a tick in the future, after a failover to a clock that runs behind, does not hold a guard up', async () => {
  const { tick } = process()
  await store.sql(`insert into retoma.guard (name, about, swept_at) values ('docs', '{}', $1)`, [at(7200)])
  await tick()
  expect(await marked()).toBe(5)
})
