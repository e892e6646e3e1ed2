/**
 * Real worker processes on the system clock: one is killed with SIGKILL during each of the three jobs, one is stopped with SIGTERM, one blocks
 * its event loop, one loses the database.
 */
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { createEngine, seconds } from 'retoma'
import sharp from 'sharp'
import { expect, onTestFinished, test } from 'vitest'
import { doorOf } from '../../../test/http/support.ts'
import { sqlOn } from '../../../test/support/application.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { until } from '../../../test/support/engine.ts'
import { hire, killed, takeLock, writeLock } from '../../../test/support/killed-workers.ts'
import { linkTo } from '../../../test/support/link.ts'
import { planner } from '../index.ts'
import { readPlannerSettings } from '../settings.ts'
import { longProblem, smallProblem } from './door.ts'

const script = fileURLToPath(new URL('./worker.mjs', import.meta.url))
/** In place of 2 and 5 minutes. */
const times = { orphanAfter: seconds(15), sweepEvery: seconds(10) }
/** Of a busy machine: the heartbeat before the kill, two checks of the watchdog, and its statements. */
const slack = seconds(30)
/** Longer than both times together: a job that is marked at all is marked by then. */
const longer = seconds(30)

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
  const { url: server, drop } = await migratedDatabase('with systems')
  onTestFinished(drop)
  const link = await linkTo(server)
  const { url } = link
  const system = planner({ settings: readPlannerSettings({}), times })
  const engine = await createEngine({ databaseUrl: url, systems: [system], migrate: false, log: false })
  onTestFinished(() => engine.close())
  const { ask, fetch } = doorOf(engine, { routes: system.routes })
  const hired = () => hire(script, { DATABASE_URL: url }, JSON.stringify({ ...times, blockedMs: longer }))
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
  return { url, server, link, engine, hired, read, upload, schedule }
}

test('kill -9 of the worker during each of the three jobs: FAILED with the text of the seed, not before the orphan threshold and not after the next sweep', async () => {
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
    const took = Date.parse(job.completed_at) - Date.parse(job.last_heartbeat_at)
    expect(took).toBeGreaterThanOrEqual(times.orphanAfter)
    expect(took).toBeLessThanOrEqual(times.orphanAfter + times.sweepEvery + slack)
  }
})

test('SIGTERM in the middle of generate-schedule: handed back, runs elsewhere, ends COMPLETED with one try', async () => {
  const t = await started()
  const id = await t.schedule({ ...longProblem, time_limit_seconds: 8 })
  const first = t.hired()
  // The first note of the handler: on a busy machine the first note of the solver may come just before its time is up.
  await until(async () => (await t.read(id)).progress !== null)
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

test('a job whose worker blocks its event loop for longer than the orphan threshold is not marked, and ends COMPLETED', async () => {
  const t = await started()
  const sql = await sqlOn({ databaseUrl: t.url })
  t.engine.watch()
  const id = await t.upload('extract-demand', Buffer.from('data;hora\n04/03/2030;9'))
  // The handler waits for its file until the event loop is blocked.
  const lock = new pg.Client({ connectionString: t.url })
  await lock.connect()
  onTestFinished(() => lock.end())
  await lock.query('begin; lock table retoma.file_chunk in access exclusive mode')
  const worker = t.hired()
  await until(async () => (await t.read(id)).status === 'RUNNING')
  worker.kill('SIGUSR2')
  const isBlocked = async () => (await sql(`select from retoma.worker where blocked_since is not null`)).length > 0
  await until(isBlocked)
  await lock.query('rollback')
  await until(async () => {
    const isOver = !(await isBlocked())
    const { status, last_heartbeat_at } = await t.read(id)
    if (isOver) return true
    expect(status).toBe('RUNNING')
    expect(Date.now() - Date.parse(last_heartbeat_at)).toBeLessThan(seconds(30))
    return false
  })
  await until(async () => (await t.read(id)).status !== 'RUNNING')
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED', error_message: null })
})

test('with the database away for longer than the orphan threshold nobody is marked, and the job ends COMPLETED', async () => {
  const t = await started()
  const sql = await sqlOn({ databaseUrl: t.server })
  t.engine.watch()
  const id = await t.schedule({ ...longProblem, time_limit_seconds: 60 })
  t.hired()
  await until(async () => (await t.read(id)).progress?.done > 0)
  t.link.cut()
  const old = `select from retoma.worker where heartbeat_at < now() - interval '${longer / seconds(1)} s'`
  await until(async () => (await sql(old)).length > 0)
  t.link.mend()
  await until(async () => ['COMPLETED', 'FAILED'].includes((await t.read(id)).status))
  expect(await t.read(id)).toMatchObject({ status: 'COMPLETED', error_message: null })
  // A worker without the database for 15 s ends its attempts, because another worker may have them, and runs the job anew.
  expect(await t.engine.job(id)).toMatchObject({ failures: 0, crashes: 0, history: [] })
})
