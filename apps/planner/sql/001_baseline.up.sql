-- The planner (apps/planner). A job of the planner is a job of the engine, with its input, its files, its progress and its result; the
-- table lists the jobs of the planner, so that a list does not read the jobs of all systems. The view shows the jobs in the words of the
-- seed.

create table planner.job (
  job_id bigint primary key,              -- job of the engine, and the id over HTTP
  kind text collate "C" not null,         -- kind of the calculation
  created_by text not null,               -- actor that created the job
  created_at timestamptz not null,        -- time of the creation
  deleted_at timestamptz,                 -- the job is being erased, and no route shows the job
  constraint job_kind check (kind in ('generate-schedule', 'extract-demand', 'generate-thumbnail'))
);

create index job_deleted on planner.job (job_id) where deleted_at is not null;

-- last_heartbeat_at is the heartbeat of the worker that runs the job; the start of the attempt is a sign of life too. At the end the value is
-- frozen: a worker that settles a job is alive at this time; of an orphan, the engine has stored the last heartbeat of the dead worker. A job
-- whose run_at is after its last start waited at its end (handed back, or retried, then cancelled or overdue): no worker had the job.
create view planner.planner_job as
select
  p.job_id as id,
  p.kind,
  case j.state
    when 'waiting' then 'PENDING'
    when 'running' then 'RUNNING'
    when 'stalled' then 'RUNNING'
    when 'succeeded' then 'COMPLETED'
    else 'FAILED'
  end as status,
  p.created_at,
  p.created_by,
  case when j.state <> 'waiting' and not a.waited then j.started_at end as started_at,
  j.finished_at as completed_at,
  case
    when j.state = 'waiting' or j.started_at is null or a.waited then null
    when j.state = 'running' then greatest(w.heartbeat_at, j.started_at)
    else coalesce((f.evidence ->> 'heartbeatAt')::timestamptz, j.finished_at)
  end as last_heartbeat_at,
  coalesce(j.worker_id, j.last_worker) as worker_id,
  case
    when j.state = 'cancelled' then 'cancelado'
    when j.state not in ('failed', 'skipped') then null
    when j.error ->> 'type' = 'timeout' then 'o job passou do tempo máximo'
    when j.error ->> 'type' = 'crash' and j.error ->> 'message' like '%: it went over its memory of %' then 'o processo do job passou da memória permitida'
    when j.error ->> 'type' = 'crash' then 'o processo do job morreu'
    else j.error ->> 'message'
  end as error_message,
  j.progress,
  j.result
from planner.job p
  join retoma.job j on j.id = any (array[p.job_id])
  cross join lateral (select j.state in ('failed', 'skipped', 'cancelled') and coalesce(j.run_at > j.started_at, true) as waited) a
  left join retoma.worker w on w.id = any (array[j.worker_id])
  left join retoma.failure f on f.job_id = any (array[p.job_id]) and f.attempt = j.attempt and f.failure_type = 'orphan'
where p.deleted_at is null;
