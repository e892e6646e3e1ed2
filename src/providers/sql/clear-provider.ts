/**
 * Clears a provider for a person: ends its wait or stop, and makes the jobs that were deferred until the end of the wait
 * ready now. The jobs are found by `run_at`, the end of the wait.
 *
 * Invariant: clearing twice, or by ten people at once, has the effect of a single clear. The row of the provider keeps
 * the end of the wait until no job is left, so any later tick continues after a crash; a job deferred meanwhile is found
 * by the next tick.
 */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { waitingJobs } from '../../jobs/sql/job-floor.ts'
import { queuesOfKinds } from '../../jobs/sql/kind-queues.ts'
import { noteEvents } from '../../jobs/sql/transition.ts'
import { clearedProvider } from './provider-state.ts'

const tickMs = 8000
const chunkSize = 1000
/** Jobs may lie this long after the end of the wait: jitter, and the delay of a busy database before the settle. */
const spread = `interval '1 minute'`

const clear = {
  name: 'provider_clear',
  text: `
    with known as materialized (
      select name, wait_until > coalesce($2::timestamptz, now()) or stopped_at is not null or consecutive_waits > 0 as stands
      from retoma.provider
      where name = $1
      for update
    ), moved as (
      update retoma.provider p set ${clearedProvider(nowParameter(2))} from known k where p.name = k.name and k.stands
      returning p.name
    ), ${noteEvents(
      {
        of: 'moved',
        type: 'action',
        data: `jsonb_build_object('who', $3::text, 'what', 'clear provider', 'provider', m.name)`,
      },
      nowParameter(2),
    )}
    select exists (select from moved) as changed from known`,
}

/** Returns undefined if the provider does not exist. */
export async function clearProvider(
  db: Db,
  name: string,
  by: string | undefined,
  at: Date | null,
): Promise<{ changed: boolean } | undefined> {
  const [row] = await db.run<{ changed: boolean }>(clear, [name, at, by ?? null])
  return row
}

const now = nowParameter(1)
// A job that the provider `d` deferred, due at the end of the wait.
const isOfIt = `deferred_by = d.name and run_at > ${now} and run_at between d.waited_until and d.waited_until + ${spread}`

const recall = {
  name: 'provider_recall_jobs',
  text: `
    with due as materialized (
      select name, kinds, waited_until, cleared_at from retoma.provider
      where waited_until is not null and wait_until <= ${now}
    ), found as materialized (
      select j.id
      from due d
        cross join lateral (${queuesOfKinds('d.kinds')}) q
        cross join lateral (
          select w.id
          from generate_series(0, 19) as r (claim_rank)
            cross join lateral (${waitingJobs('q.queue', 'id', `and ${isOfIt} limit ${chunkSize}`)}) w
        ) j
      limit ${chunkSize}
    ), free as materialized (
      select id from retoma.job
      where id = any (array(select id from found)) and state = 'waiting'
      order by id
      for update skip locked
    ), moved as (
      update retoma.job j set run_at = ${now} where j.id = any (array(select id from free))
      returning j.queue
    ), done as (
      update retoma.provider p set waited_until = null
      from due d
      where p.name = d.name and p.waited_until = d.waited_until and d.cleared_at < ${now} - ${spread}
        and not exists (select from found)
    )
    select queue, count(*)::int as jobs from moved group by queue`,
}

/** Makes jobs ready that were deferred for cleared providers, and returns the queues. */
export async function recallJobs(db: Db, at: Date | null): Promise<string[]> {
  const queues = new Set<string>()
  for (;;) {
    const rows = await db.run<{ queue: string; jobs: number }>(recall, [at], tickMs)
    for (const { queue } of rows) queues.add(queue)
    if (rows.reduce((sum, each) => sum + each.jobs, 0) < chunkSize) return [...queues]
  }
}
