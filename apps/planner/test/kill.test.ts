/** Real worker processes on the system clock: one is killed with SIGKILL during each of the three jobs, one is stopped with SIGTERM. */
import { fileURLToPath } from 'node:url'
import { createEngine, seconds } from 'retoma'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { planner } from '../index.ts'
import { readPlannerSettings } from '../settings.ts'
import { shifts, smallProblem } from './door.ts'

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))
/** In place of 2 and 5 minutes. */
const times = { orphanAfter: seconds(15), sweepEvery: seconds(10) }

/** While a row is in `held`, no job can end: the write of its end waits for a lock. */
const hold = `
  create table public.held (id int);
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.finished_at is not null and exists (select from public.held) then
      ${takeLock};
    end if;
    return new;
  end $$;
  create trigger hold before update on retoma.job for each row execute function public.hold()`

async function started() {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const system = planner({ settings: readPlannerSettings({}), times })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false, log: false })
  onTestFinished(() => engine.close())
  const { ask, fetch } = doorOf(engine, { routes: system.routes })
  const hired = () => hire(script, { DATABASE_URL: url }, JSON.stringify(times))
  const read = async (id: string) => (await ask('GET', `/api/planner/jobs/${id}`)).body
  const upload = async (route: string, bytes: Uint8Array) => {
    const form = new FormData()
    form.append('file', new File([new Uint8Array(bytes)], 'f'))
    const response = await fetch(
      new Request(`http://127.0.0.1:3000/api/planner/${route}`, { method: 'POST', body: form }),
    )
    return ((await response.json()) as { id: string }).id
  }
  const schedule = async (problem: object): Promise<string> =>
    (await ask('POST', '/api/planner/generate-schedule', { body: problem })).body.id
  return { url, engine, hired, read, upload, schedule }
}

test('kill -9 of the worker during each of the three jobs: FAILED with the text of the seed, not before the orphan threshold', async () => {
  const t = await started()
  const sql = await sqlOn({ databaseUrl: t.url })
  const lock = await writeLock(t.url, hold)
  await sql(`insert into public.held values (1)`)
  t.engine.watch()

  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#fff' } })
    .png()
    .toBuffer()
  const ids = [
    await t.schedule(smallProblem),
    await t.upload('extract-demand', Buffer.from('data;hora\n04/03/2030;9')),
    await t.upload('generate-thumbnail', image),
  ]
  const worker = t.hired()
  const all = async (status: string) => (await Promise.all(ids.map(t.read))).every(each => each.status === status)
  await until(async () => (await all('RUNNING')) && (await lock.isAwaited()))
  await killed(worker)
  await sql(`delete from public.held`)
  await lock.endWaiting()
  expect(await all('RUNNING')).toBe(true)

  await until(() => all('FAILED'))
  for (const job of await Promise.all(ids.map(t.read))) {
    expect(job.error_message).toBe('orphan: job RUNNING sem heartbeat; worker provavelmente morreu')
    expect(Date.parse(job.completed_at) - Date.parse(job.last_heartbeat_at)).toBeGreaterThanOrEqual(times.orphanAfter)
  }
})

test('SIGTERM in the middle of generate-schedule: handed back, runs elsewhere, ends COMPLETED with one try', async () => {
  const t = await started()
  const people = Array.from({ length: 40 }, (_, index) => ({
    name: `P${index}`,
    avoids: index % 5 === 0 ? ['Noite'] : [],
  }))
  const id = await t.schedule({
    start: '2030-03-04',
    days: 14,
    people,
    shifts,
    demand: shifts.map(({ name }) => ({ shift: name, people: 9 })),
    rules: { max_nights_per_week: 3 },
    allow_shortage: true,
    balance_hours: true,
    time_limit_seconds: 5,
  })
  const first = t.hired()
  await until(async () => (await t.read(id)).progress?.done > 0)
  const { worker_id: before } = (
    await t.engine.query<{ worker_id: string }>(`select worker_id from planner.planner_job`)
  ).rows[0]!
  await killed(first, 'SIGTERM')
  expect(await t.read(id)).toMatchObject({ status: 'PENDING', started_at: null, error_message: null })
  t.hired()
  await until(async () => !['PENDING', 'RUNNING'].includes((await t.read(id)).status))
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED', error_message: null })
  expect(await t.engine.job(id)).toMatchObject({ failures: 0, crashes: 0, history: [] })
  const { worker_id: after } = (
    await t.engine.query<{ worker_id: string }>(`select worker_id from planner.planner_job`)
  ).rows[0]!
  expect(after).not.toBe(before)
})
