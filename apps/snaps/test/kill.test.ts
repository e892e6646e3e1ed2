/** A real worker process, killed at every write of a snap in turn. */
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { milliseconds } from 'retoma'
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { photo } from './images.ts'
import { liveSnaps } from './live.ts'

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))

/** The named write of a worker waits for a lock, until the test kills the worker. */
const hold = `
  create table public.held (place text);
  create table public.fact (id bigint);
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if exists (select from public.held h where h.place = tg_argv[0]) then
      ${takeLock};
    end if;
    if tg_argv[0] = 'facts' then
      insert into public.fact values (new.id);
    end if;
    return new;
  end $$;
  create trigger step before insert on retoma.checkpoint for each row when (new.name = 'image') execute function public.hold('step');
  create trigger facts before update of format on snaps.snap for each row execute function public.hold('facts');
  create trigger settle before update on retoma.job for each row when (new.finished_at is not null) execute function public.hold('settle')`

test('killed before each write in turn, the snap runs again and ends DONE, and its facts are written once', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const { send, read, sql } = await liveSnaps({ url })
  const lock = await writeLock(url, hold)
  const hired = () => hire(script, { DATABASE_URL: url })
  const id = await send(await photo(1))
  for (const place of ['step', 'facts', 'settle']) {
    await sql(`insert into public.held values ($1)`, [place])
    const worker = hired()
    await until(lock.isAwaited)
    const seen = await read(id)
    expect(seen).toMatchObject({ status: 'PROCESSING', attempt_count: 1, result: null })
    expect(seen.claimed_by).not.toBeNull()
    await killed(worker)
    await lock.endWaiting()
    await sql(`delete from public.held`)
    expect(await sql(`select * from public.fact`)).toHaveLength(place === 'settle' ? 1 : 0)
  }
  const last = hired()
  await until(async () => (await read(id)).status === 'DONE')
  expect(await read(id)).toMatchObject({ attempt_count: 1, result: { width: 320, height: 240 } })
  expect(await sql(`select attempt, failures from retoma.job where kind = 'process-snap'`)).toEqual([
    { attempt: 4, failures: 0 },
  ])
  expect(await sql(`select * from public.fact`)).toEqual([{ id }])
  await killed(last, 'SIGTERM')
})

test('a worker that is told to stop gives the snap back: no attempt is counted, and the next worker finishes', async () => {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const { send, read, sql, work } = await liveSnaps({ url })
  const lock = new pg.Client({ connectionString: url })
  await lock.connect()
  onTestFinished(() => lock.end())
  const id = await send(await photo(2))
  await lock.query('begin')
  await lock.query('select from snaps.snap where id = $1 for update', [id])
  const first = await work({ grace: milliseconds(50) })
  // The write of the facts waits for the lock.
  await until(
    async () =>
      (await sql(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`))
        .length > 0,
  )
  await first.stop()
  expect(await read(id)).toMatchObject({ status: 'PENDING', attempt_count: 0, last_error: null, claimed_by: null })
  await lock.query('rollback')
  const second = await work()
  await until(async () => (await read(id)).status === 'DONE')
  expect(await read(id)).toMatchObject({ attempt_count: 1, last_error: null })
  await second.stop()
})
