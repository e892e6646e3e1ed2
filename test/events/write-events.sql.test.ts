/** Events come with their change, and whoever reads by position misses none and sees none twice. */
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import type { Db, Statement } from '../../src/database/db.ts'
import { type EventRow, pollEvents, readEvents } from '../../src/events/sql/read-events.ts'
import { placeAllEvents, placeEvents, pruneEvents, warnOfAttempt } from '../../src/events/sql/write-events.ts'
import { applyJobAction } from '../../src/jobs/sql/job-actions.ts'
import { pruneJobs } from '../../src/jobs/sql/prune-jobs.ts'
import { lockKeys } from '../../src/lib/lock-keys.ts'
import { days, seconds } from '../../src/lib/values/duration.ts'
import { pauseQueue } from '../../src/limits/sql/queue.ts'
import { recoverOrphans } from '../../src/recovery/sql/recover-jobs-of-dead-worker.ts'
import { createTestDatabase } from '../../src/testing/index.ts'
import { type SettleRow, settleJobs } from '../../src/worker/sql/settle.ts'
import { at, storeForFile } from '../support/store.ts'

const store = storeForFile()
const failure = { type: 'error', message: 'no', code: 'E_NO', stack: 'at …' } as const
const settle = (id: string, outcome: SettleRow['outcome'], attempt = 1) =>
  settleJobs(store.db, 'w', [{ id, attempt, outcome }], at(1))

interface Row {
  type: string
  job_id: string | null
  batch_id: string | null
  at: Date
  data: Record<string, unknown>
}
const events = () => store.sql<Row>(`select type, job_id, batch_id, at, data from retoma.event order by id`)

/** A connection of somebody else. */
async function client(url = store.url) {
  const made = new pg.Client({ connectionString: url })
  await made.connect()
  onTestFinished(() => made.end())
  return made
}

const insert = (n: number, more = '') =>
  `insert into retoma.event (at, type, data) values ('2030-01-01', 'warning', '{"n": ${n}${more}}')`

const numbers = (rows: readonly EventRow[]) => rows.map(row => row.data.n)

describe('what is stored:', () => {
  test('the failed end of a job, with its reason and without its stack', async () => {
    const id = await store.put('running')
    await settle(id, { state: 'failed', failure })
    const data = {
      from: 'running',
      to: 'failed',
      ref: null,
      attempt: 1,
      failures: 1,
      failure_type: 'error',
      code: 'E_NO',
      reason: 'no',
    }
    expect(await events()).toEqual([{ type: 'state', job_id: id, batch_id: null, at: at(1), data }])
  })

  test.each<[string, SettleRow['outcome']]>([
    ['a success', { state: 'succeeded', result: '1' }],
    ['a skip', { state: 'skipped', reason: 'empty' }],
    ['a try that is followed by another', { state: 'waiting', delay: seconds(5), failure }],
    ['a release', { state: 'released' }],
  ])('not %s', async (_, outcome) => {
    await settle(await store.put('running'), outcome)
    expect(await events()).toEqual([])
  })

  test('of a flush only what failed, an end that PostgreSQL refused as well', async () => {
    const ids = await store.putMany(300, 'running')
    const outcomes: SettleRow['outcome'][] = [
      { state: 'succeeded', result: '1' },
      { state: 'failed', failure },
      { state: 'refused' },
    ]
    const settles = ids.map((id, i): SettleRow => ({ id, attempt: 1, outcome: outcomes[i % 3]! }))
    await settleJobs(store.db, 'w', settles, at(1))
    const reported = (await events()).map(row => row.job_id)
    expect(reported.sort()).toEqual(ids.filter((_, i) => i % 3 > 0).sort())
  })

  test('a settle whose answer was lost makes one event', async () => {
    const id = await store.put('running')
    for (let time = 0; time < 3; time++) await settle(id, { state: 'failed', failure })
    expect(await events()).toHaveLength(1)
  })

  test('a settle that lost its lease makes none', async () => {
    const id = await store.put('running', { worker: 'other' })
    await settle(id, { state: 'failed', failure })
    expect(await events()).toEqual([])
  })

  test('a job of a batch names it, and its ref', async () => {
    const id = await store.put('running')
    await store.sql(`update retoma.job set batch_id = 77, ref = 'A-17' where id = $1`, [id])
    await settle(id, { state: 'failed', failure })
    expect(await events()).toMatchObject([{ type: 'state', job_id: id, batch_id: '77', data: { ref: 'A-17' } }])
  })

  test('a long message is cut; the whole is in the failure', async () => {
    const id = await store.put('running')
    await settle(id, { state: 'failed', failure: { ...failure, message: 'ã'.repeat(5000) } })
    const [event] = await events()
    expect(event!.data.reason).toBe('ã'.repeat(1000))
  })

  test('what a watchdog put right', async () => {
    const id = await store.put('running', { worker: 'gone' })
    await recoverOrphans(store.db, 10, at(2))
    await recoverOrphans(store.db, 10, at(3))
    expect(await events()).toMatchObject([
      {
        type: 'state',
        job_id: id,
        at: at(2),
        data: { from: 'running', to: 'waiting', failure_type: 'orphan', attempt: 1 },
      },
    ])
  })

  test('an action, once, and only when it changed something', async () => {
    const id = await store.put('running')
    for (const actionName of ['cancel', 'cancel', 'retry', 'retry', 'resume'] as const)
      await applyJobAction(store.db, actionName, id, at(4))
    await store.sql(`update retoma.job set state = 'stalled' where id = $1`, [id])
    for (let time = 0; time < 2; time++) await applyJobAction(store.db, 'resume', id, at(5))
    expect((await events()).map(({ type, job_id, data }) => [type, job_id, data.what, data.from, data.to])).toEqual([
      ['action', id, 'cancel', 'running', 'cancelled'],
      ['action', id, 'retry', 'cancelled', 'waiting'],
      ['action', id, 'resume', 'stalled', 'waiting'],
    ])
    expect((await events())[0]!.data.who).toBeNull()
  })

  test('a retry that a held key keeps from moving makes none', async () => {
    const [first, second] = await store.putMany(2, 'failed')
    await store.sql(`update retoma.job set key = 'a', unique_until = case when id = $1 then 'day' end`, [first])
    expect(await applyJobAction(store.db, 'retry', second!, at(1))).toMatchObject({ moved: false, heldBy: first })
    expect(await events()).toEqual([])
  })

  test('a queue that was paused and goes on', async () => {
    await store.sql(`insert into retoma.queue (name) values ('q')`)
    for (const paused of [true, true, false]) await pauseQueue(store.db, 'q', paused, at(6))
    expect((await events()).map(({ type, at, data }) => [type, at, data])).toEqual([
      ['action', at(6), { who: null, what: 'pause queue', queue: 'q' }],
      ['action', at(6), { who: null, what: 'resume queue', queue: 'q' }],
    ])
  })

  test('a warning about an attempt, once, and not after its lease is lost', async () => {
    const id = await store.put('running')
    const warn = (what: string, attempt = 1, worker = 'w') =>
      warnOfAttempt(store.db, { id, attempt, worker }, what, { steps: ['a'] }, at(7))
    for (let time = 0; time < 2; time++) await warn('unknown_steps')
    await warn('another')
    await warn('late', 0)
    await warn('late', 1, 'other')
    expect((await events()).map(({ type, job_id, data }) => [type, job_id, data])).toEqual([
      ['warning', id, { what: 'unknown_steps', steps: ['a'], ref: null, attempt: 1 }],
      ['warning', id, { what: 'another', steps: ['a'], ref: null, attempt: 1 }],
    ])
  })
})

describe('positions:', () => {
  test('a late commit comes after what was read before it: not skipped, not repeated', async () => {
    const late = await client()
    await late.query('begin')
    await late.query(insert(1))
    await store.sql(insert(2))
    await placeAllEvents(store.db)
    const first = await readEvents(store.db, {}, 0, 10)
    expect(numbers(first.events)).toEqual([2])
    await late.query('commit')
    await placeAllEvents(store.db)
    const { events } = await readEvents(store.db, {}, first.last, 10)
    expect(numbers(events)).toEqual([1])
    expect(events[0]!.seq).toBeGreaterThan(first.last)
  })

  test('an idle writer in another database of the cluster holds up nobody', async () => {
    const other = await createTestDatabase(inject('serverUrl'))
    onTestFinished(() => other.drop())
    const idle = await client(other.url)
    await idle.query(`begin; create table t (a int); insert into t values (1)`)
    await store.sql(insert(1))
    await placeAllEvents(store.db)
    expect(numbers((await readEvents(store.db, {}, 0, 10)).events)).toEqual([1])
    await idle.query('rollback')
  })

  test('while another gives positions, nothing is waited for and none is given twice', async () => {
    const other = await client()
    await store.sql(insert(1))
    await other.query(
      `begin; select pg_advisory_xact_lock(${lockKeys.positions} # ('retoma.event'::regclass::oid::bigint << 33))`,
    )
    expect(await placeEvents(store.db)).toBe(0)
    await other.query('rollback')
    expect(await placeEvents(store.db)).toBe(1)
    expect(await placeEvents(store.db)).toBe(0)
  })

  test('one whose snapshot is older than its lock gives nothing a second position', async () => {
    await store.sql(insert(1))
    const [first, second] = [await client(), await client()]
    // As ours, but it waits for the lock: so it has looked before the other was done.
    let waiting = ''
    const run = async ({ text }: Statement) => {
      waiting = text.replace(/pg_try_(advisory_xact_lock\(.*?<< 33\)\))/, 'pg_$1 is not null')
      return [{}] as never
    }
    await placeEvents({ ...store.db, run })
    await first.query('begin')
    await first.query(waiting, [10])
    const later = second.query(waiting, [10])
    const isWaiting = `select from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`
    while ((await store.sql(isWaiting)).length === 0);
    const [before] = (await first.query(`select seq from retoma.event`)).rows
    await first.query('commit')
    expect((await later).rows).toEqual([{ placed: 0 }])
    expect(await store.sql(`select seq from retoma.event`)).toEqual([before])
  })

  test('four writers with late commits, three who give positions, three readers: each sees all, once, in one order', async () => {
    const perWriter = 60
    const perCommit = 5
    let writing = 4
    const write = async (writer: number) => {
      const connection = await client()
      for (let n = 0; n < perWriter; n++) {
        await connection.query('begin')
        for (let i = 0; i < perCommit; i++) await connection.query(insert(n * perCommit + i, `, "writer": ${writer}`))
        // Held open for some round trips, a different number each time: others come after it and commit before it.
        for (let trip = (n * 7 + writer * 3) % 11; trip > 0; trip--) await connection.query('select 1')
        await connection.query('commit')
      }
      writing--
    }
    const placing = async (db: Db) => {
      while (writing > 0) await placeEvents(db)
      await placeAllEvents(db)
    }
    let placers = 3
    const place = (db: Db) => placing(db).finally(() => placers--)
    const read = async (db: Db) => {
      const seen: EventRow[] = []
      for (;;) {
        const isLast = placers === 0
        const { events } = await readEvents(db, {}, seen.at(-1)?.seq ?? 0, 50)
        seen.push(...events)
        if (isLast && events.length === 0) return seen
      }
    }
    const threeOf = <T>(work: (db: Db) => Promise<T>) => Promise.all([1, 2, 3].map(() => work(store.another())))
    const [, , readers] = await Promise.all([Promise.all([1, 2, 3, 4].map(write)), threeOf(place), threeOf(read)])
    await placeAllEvents(store.db)
    const names = readers.map(rows => rows.map(({ data }) => `${data.writer}:${data.n}`))
    expect(names[0]).toHaveLength(4 * perWriter * perCommit)
    expect(new Set(names[0]).size).toBe(names[0]!.length)
    expect(names[1]).toEqual(names[0])
    expect(names[2]).toEqual(names[0])
    for (const rows of readers) {
      const positions = rows.map(row => row.seq)
      expect(positions).toEqual(positions.toSorted((a, b) => a - b))
    }
  })
})

describe('what is removed:', () => {
  const place = async (...ats: number[]) => {
    for (const [n, day] of ats.entries()) {
      await store.sql(
        `insert into retoma.event (at, type, data) values ($1::timestamptz + make_interval(days => $2), 'warning', jsonb_build_object('n', $3::int))`,
        [at(0), day, n],
      )
      await placeAllEvents(store.db)
    }
  }
  const left = async () => (await events()).map(row => row.data.n)
  const removed = async () => Number((await store.sql<{ seq: string }>(`select seq from retoma.event_pruned`))[0]!.seq)

  test('what is too old, up to the first that is not, in chunks; and up to where is noted', async () => {
    await place(-9, -8, -7, -1, -9, 0)
    const { events: all } = await readEvents(store.db, {}, 0, 10)
    expect(await pruneEvents(store.db, days(5), 2, at(0))).toBe(2)
    expect(await removed()).toBe(all[1]!.seq)
    expect(await pruneEvents(store.db, days(5), 2, at(0))).toBe(1)
    expect(await pruneEvents(store.db, days(5), 2, at(0))).toBe(0)
    expect(await left()).toEqual([3, 4, 5])
    expect(await removed()).toBe(all[2]!.seq)
    expect((await readEvents(store.db, {}, all[0]!.seq, 10)).removed).toBe(all[2]!.seq)
  })

  test('two at once do not disturb each other', async () => {
    await place(-9, -9, -9, -9, 0)
    const counts = await Promise.all([1, 2, 3].map(() => pruneEvents(store.another(), days(5), 10, at(0))))
    expect(counts.reduce((a, b) => a + b)).toBe(4)
    expect(await left()).toEqual([4])
  })

  test('a job that goes takes its events with it, those without a position too', async () => {
    const [gone, kept] = await store.putMany(2, 'running')
    await settle(gone!, { state: 'failed', failure })
    await placeAllEvents(store.db)
    await applyJobAction(store.db, 'retry', gone!, at(1))
    await applyJobAction(store.db, 'cancel', gone!, at(2))
    await applyJobAction(store.db, 'cancel', kept!, at(500))
    expect(await pruneJobs(store.db, ['cancelled'], seconds(60), 10, at(200))).toBe(1)
    expect((await events()).map(row => row.job_id)).toEqual([kept])
  })
})

describe('by index, whether statistics say that all have a position or that none has:', () => {
  /** What a session of ours would do with the first statement `work` sends. */
  async function planOf(work: (db: Db) => Promise<unknown>): Promise<string> {
    let sent: { text: string; values: unknown[] } | undefined
    const run = async ({ text }: Statement, values: unknown[]) => {
      sent ??= { text, values }
      return [{}] as never
    }
    await work({ ...store.db, run })
    return store.db.transaction(async ours => {
      const { text, values } = sent!
      await ours.query(`prepare asked as ${text}`)
      const list = values.map(value =>
        Array.isArray(value) ? `'{${value.join()}}'` : value === null ? 'null' : `'${value}'`,
      )
      const { rows } = await ours.query(`explain execute asked${list.length > 0 ? `(${list.join()})` : ''}`)
      await ours.query('deallocate asked')
      return rows.map(row => (row as { 'QUERY PLAN': string })['QUERY PLAN']).join('\n')
    })
  }

  test.each(['all', 'none'])('%s', async which => {
    await store.sql(
      `insert into retoma.event (at, type, job_id, batch_id, data, seq)
       select now(), 'state', n, n % 10, '{}', case when $1 = 'all' then nextval('retoma.event_seq_seq') end
       from generate_series(1, 30000) n`,
      [which],
    )
    await store.sql('analyze retoma.event')
    const plans = {
      place: await planOf(placeEvents),
      check: await planOf(db => pollEvents(db, { after: 1, limit: 2000, jobs: ['5'], batches: ['6'] }, null)),
      page: await planOf(db => readEvents(db, {}, 1, 500)),
      pageOfJob: await planOf(db => readEvents(db, { job: '5' }, 1, 500)),
      pageOfBatch: await planOf(db => readEvents(db, { batch: '6' }, 1, 500)),
      prune: await planOf(db => pruneEvents(db, 1000, 1000, null)),
    }
    for (const plan of Object.values(plans)) expect(plan).not.toContain('Seq Scan on event ')
    expect(plans.place).toContain('Tid Scan on event')
    expect(plans.pageOfJob).toContain('event_job')
    expect(plans.pageOfBatch).toContain('event_batch')
    const careless = (db: Db) =>
      db.run({ name: '', text: `update retoma.event e set seq = e.id where e.type = 'state'` }, [])
    expect(await planOf(careless)).toContain('Seq Scan on event ')
  })
})
