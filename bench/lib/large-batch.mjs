/** Rows for the dashboard, written by statements and not by jobs: finished jobs, a history of queues, and a large batch, paused at nine tenths. */
import { grouped, round } from './figures.mjs'

const queues = ['bench', 'mail', 'quotes', 'pages', 'sync']

/** Adds finished jobs. 1 job in 1,000 failed, with ten different causes. */
export async function addFinished(database, rows) {
  await database.sql(
    `insert into retoma.job (queue, kind, ref, state, claim_rank, run_at, input, attempt, failures, last_worker, result, error, started_at, created_at, finished_at)
     select ($2::text[])[n % 5 + 1], 'noop', 'f-' || n, case when n % 1000 = 7 then 'failed' else 'succeeded' end, 9, t, '{}', 1, (n % 1000 = 7)::int, 'w-gone',
       case when n % 1000 = 7 then null else 'null'::jsonb end,
       case when n % 1000 = 7 then jsonb_build_object('type', 'Error', 'code', null, 'message', 'cause ' || n % 10000, 'cause', md5((n % 10000)::text)) end,
       t, t, t
     from (select n, now() - n * interval '1 second' as t from generate_series(1, $1::int) as n) s`,
    [rows, queues],
  )
}

/** Two days of minutes and ninety days of hours for each queue. */
export async function addHistory(database) {
  await database.sql(
    `insert into retoma.queue_history (seconds, at, queue, started, succeeded, skipped, failed, retried, deferred, duration_ms, waiting_ms, durations, waitings)
     select s.seconds, date_bin(make_interval(secs => s.seconds), now() - n * make_interval(secs => s.seconds), '2000-01-01Z'), q, 60, 59, 0, 1, 0, 0, 6000, 3000,
       array_fill(2, array[25]), array_fill(2, array[25])
     from (values (60, 2880), (3600, 2160)) as s (seconds, rows) cross join lateral generate_series(1, s.rows) as n cross join unnest($1::text[]) as q
     on conflict do nothing`,
    [queues],
  )
}

/** Submits the batch and ends nine tenths of the items: 1 item in 1,000 failed. Returns the id. */
export async function addLargeBatch({ database, engine, batch, items, say }) {
  const at = performance.now()
  async function* all() {
    for (let n = 0; n < items; n++) yield { n }
  }
  const { id } = await engine.submit(batch, all(), { ref: ({ n }) => `item-${String(n).padStart(7, '0')}` })
  await engine.batches.pause(id)
  const done = Math.round(items * 0.9)
  await database.sql(
    `update retoma.job j
     set state = case when s.n % 1000 = 7 then 'failed' else 'succeeded' end, attempt = 1, failures = (s.n % 1000 = 7)::int, last_worker = 'w-gone', started_at = now(), finished_at = now(),
       result = case when s.n % 1000 = 7 then null else '{"ok": true}'::jsonb end,
       error = case when s.n % 1000 = 7 then jsonb_build_object('type', 'Error', 'code', null, 'message', 'cause ' || s.n % 10000, 'cause', md5((s.n % 10000)::text)) end
     from (select id, (input ->> 'n')::int as n from retoma.job where batch_id = $1) s
     where j.id = s.id and s.n < $2`,
    [id, done],
  )
  const failed = Math.floor((done + 992) / 1000)
  await database.sql(
    `insert into retoma.batch_count (batch_id, shard, succeeded, failed, started, released, progress_at, last_ref)
     values ($1, 0, $2, $3, $4, $4, now(), 'item-0')
     on conflict (batch_id, shard) do update set succeeded = excluded.succeeded, failed = excluded.failed`,
    [id, done - failed, failed, done],
  )
  say(`a batch of ${grouped(items)} items: ${round((performance.now() - at) / 1000)} s`)
  return id
}
