/** Real worker processes on the system clock: one is killed with SIGKILL during each of the three jobs, one is stopped with SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createEngine, seconds } from 'retoma'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { planner } from '../index.ts'
import { readPlannerSettings } from '../settings.ts'
import { shifts, smallProblem, sqlOn } from './door.ts'

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))
/** In place of 2 and 5 minutes. */
const times = { orphanAfter: seconds(15), sweepEvery: seconds(10) }

/** While a row is in `held`, no job can end: the write of its end waits for a lock. */
const hold = `
  create table public.held (id int);
  create function public.hold() returns trigger language plpgsql as $$
  begin
    if new.finished_at is not null and exists (select from public.held) then
      perform pg_advisory_xact_lock(4711);
    end if;
    return new;
  end $$;
  create trigger hold before update on retoma.job for each row execute function public.hold()`

const waiting = `
  select a.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where l.locktype = 'advisory' and not l.granted and l.objid = 4711 and a.datname = current_database()`

const gone = (child: ChildProcess) => new Promise<void>(resolve => child.once('close', () => resolve()))

async function started() {
  const { url, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const system = planner({ settings: readPlannerSettings({}), times })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false, log: false })
  onTestFinished(() => engine.close())
  const { ask, fetch } = doorOf(engine, { routes: system.routes })
  const hire = () => {
    const env = { ...process.env, DATABASE_URL: url, LOG_LEVEL: 'silent' }
    const child = spawn(process.execPath, [script, JSON.stringify(times)], {
      stdio: ['pipe', 'ignore', 'inherit'],
      env,
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
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
  return { url, engine, hire, read, upload, schedule }
}

test('kill -9 of the worker during each of the three jobs: FAILED with the text of the seed, not before the orphan threshold', async () => {
  const t = await started()
  const sql = await sqlOn({ databaseUrl: t.url })
  await sql(hold)
  await sql(`insert into public.held values (1)`)
  const lock = new pg.Client({ connectionString: t.url })
  await lock.connect()
  onTestFinished(() => lock.end())
  await lock.query(`select pg_advisory_lock(4711)`)
  t.engine.watch()

  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#fff' } })
    .png()
    .toBuffer()
  const ids = [
    await t.schedule(smallProblem),
    await t.upload('extract-demand', Buffer.from('data;hora\n04/03/2030;9')),
    await t.upload('generate-thumbnail', image),
  ]
  const worker = t.hire()
  const all = async (status: string) => (await Promise.all(ids.map(t.read))).every(each => each.status === status)
  await until(async () => (await all('RUNNING')) && (await sql(waiting)).length > 0)
  worker.kill('SIGKILL')
  await gone(worker)
  await sql(`delete from public.held`)
  await sql(`select pg_terminate_backend(w.pid) from (${waiting}) w`)
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
  const first = t.hire()
  await until(async () => (await t.read(id)).progress?.done > 0)
  const { worker_id: before } = (
    await t.engine.query<{ worker_id: string }>(`select worker_id from planner.planner_job`)
  ).rows[0]!
  first.kill('SIGTERM')
  await gone(first)
  expect(await t.read(id)).toMatchObject({ status: 'PENDING', started_at: null, error_message: null })
  t.hire()
  await until(async () => !['PENDING', 'RUNNING'].includes((await t.read(id)).status))
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED', error_message: null })
  expect(await t.engine.job(id)).toMatchObject({ failures: 0, crashes: 0, history: [] })
  const { worker_id: after } = (
    await t.engine.query<{ worker_id: string }>(`select worker_id from planner.planner_job`)
  ).rows[0]!
  expect(after).not.toBe(before)
})
