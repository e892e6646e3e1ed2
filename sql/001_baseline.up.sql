-- The tables of the engine, in the order of a job's life: kinds and queues, workers, jobs, the records of their attempts, limits,
-- batches, files, schedules, providers, guards; then events, findings, metrics, access.
--
-- States of a job, and the statement that writes each change (docs/state-machine.md has the whole table):
--   waiting -> running                   claim: attempt + 1, worker_id set. This is the lease.
--   running -> succeeded|skipped|failed  settle: only through the fence (id, attempt, worker_id).
--   running -> waiting                   settle (retry, snooze), release (deploy, not started), recovery (the worker died).
--
-- Conventions:
--   - Text keys collate "C": PostgreSQL compares bytes, so an index is cheaper and sorts alike on every server.
--   - Every index of `job` is partial and covers one part of a job's life: a claim or a settle writes only the indexes of its new row.
--   - Lock order: batch, jobs by id, limits by key, batch_count by (batch, shard), batch_cost by (batch, currency). A settle never locks `batch`.
--   - `fillfactor = 50` leaves room for the next version of a row in its own page. Small tables that change every second consist of
--     dead rows, so autovacuum counts rows there and not a fraction of the table.

-- Systems ------------------------------------------------------------------------------------------------------------------------

-- The migrations of the systems in this database. Each system has its tables in the schema with its name. (The migrations of the
-- engine are in retoma.migration, which the migrator creates.)
create table retoma.system_migration (
  system text collate "C" not null,           -- name of the system and of its schema
  version integer not null,                   -- number of the migration
  name text not null,                         -- file name of the migration
  applied_at timestamptz not null,            -- time of the migration
  primary key (system, version)
);

-- Kinds and queues ---------------------------------------------------------------------------------------------------------------

-- One row per job definition. Processes without the code read the policy here.
create table retoma.kind (
  name text collate "C" primary key,          -- name of the kind
  queue text collate "C" not null,            -- default queue of the kind
  policy jsonb not null,                      -- attempts, backoff, timeouts, retention: the rules for a job of this kind
  version integer not null default 1,         -- newest version of the kind's code
  internal boolean not null default false,    -- no HTTP request creates a job of this kind, nor reruns one
  private boolean not null default false,     -- only admins see jobs of this kind over HTTP
  updated_at timestamptz not null             -- time of the last change of this row
);

-- One row per queue: pause and limits.
create table retoma.queue (
  name text collate "C" primary key,          -- name of the queue
  paused boolean not null default false,      -- true: no worker claims jobs of this queue
  resumed_at timestamptz not null default '-infinity', -- last resume of the queue: maxWait counts from here at the earliest
  paused_at timestamptz,                      -- last time the queue was paused; stays after a resume
  limits jsonb not null default '{}',         -- concurrency, rate and depth in force
  code_limits jsonb,                          -- limits that the code of an engine set last; an operator's limits stay until these change
  full_scan_at timestamptz not null default '-infinity', -- time of the last full scan: a claim from the start of the queue
  limited boolean not null default false,     -- the queue has a concurrency, a rate or fair turns: its jobs are limited
  keys_changed_at timestamptz,                -- last change of limit_key_from, while waiting jobs may have earlier keys; null: none has
  limit_key_from text collate "C",            -- source of the limit_key of its jobs: 'group', 'batch', or null
  turn_keys text[] not null default '{}',     -- by priority, the key whose turn is next; a moment old, and only the start of a new worker
  unblock_seq integer not null default 0      -- increases when blocked jobs become claimable: each worker then claims once from the start
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);

-- Workers ------------------------------------------------------------------------------------------------------------------------

-- One row per incarnation of a worker. The heartbeat thread writes the row, so a blocked main loop is visible here.
create table retoma.worker (
  id text collate "C" primary key,            -- random for each incarnation: a restarted process is another worker
  host text not null,                         -- host name of the machine
  pid integer not null,                       -- process id
  version text not null,                      -- version of Retoma
  queues jsonb not null,                      -- queue name to concurrency
  kinds text[] not null,                      -- kinds the worker can run
  started_at timestamptz not null,            -- start of the incarnation
  heartbeat_at timestamptz not null,          -- last heartbeat
  suspected_at timestamptz,                   -- first step of the orphan verdict; a heartbeat clears the value
  dead_at timestamptz,                        -- second step; a worker that finds its row dead starts a new incarnation
  left_at timestamptz,                        -- the worker stopped by itself before all its jobs were released: the watchdog releases them, whatever onOrphan says
  blocked_since timestamptz,                  -- the event loop is blocked since this time; null: it turns
  loop_lag_ms integer,                        -- last measured lag of the event loop
  memory_bytes bigint,                        -- resident memory of the process
  missed_checks integer not null default 0,   -- checks without a heartbeat: the verdict if checks are too far apart to measure a silence
  versions jsonb not null default '{}',       -- kind to [oldest, newest] version, if that is not [1, 1]
  in_flight integer not null default 0,       -- attempts whose handler runs
  abandoned integer not null default 0,       -- handlers that still run although their attempt ended
  free_slots jsonb not null default '{}',     -- queue to the number of further jobs the worker could run now
  write_lag_ms integer not null default 0,    -- waiting time of the oldest outcome or step that is not written yet
  unblocked_at timestamptz,                   -- last time the main loop turned again after a block of seconds; deadlines discount the block
  blocked_job bigint,                         -- job on the stack of the blocked loop, if known
  blocked_attempt integer,                    -- attempt of that job
  blocked_stack text,                         -- stack of the blocked loop
  supervised boolean not null default false,  -- a supervisor restarts the process
  crash_report jsonb,                         -- crash report of the supervisor (src/supervisor/model/crash-report.ts)
  process jsonb,                              -- identity of the process and of its supervisor: another process can prove that both ended
  history_seq integer not null default 0      -- number of the last write to queue_history: a repeated write adds nothing
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);

-- One row per periodic task. Any number of processes may run the task: one conditional update wins, the others do nothing.
create table retoma.periodic_lease (
  name text collate "C" primary key,          -- watchdog, job_count_sample, job_floor, notify
  at timestamptz not null,                    -- last run
  since timestamptz not null default '-infinity' -- watchdog: checks without a gap since; an outage counts against no job. Others: next run
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);

insert into retoma.periodic_lease (name, at) values ('watchdog', '-infinity'), ('job_count_sample', '-infinity'), ('job_floor', '-infinity');

-- Jobs ---------------------------------------------------------------------------------------------------------------------------

create table retoma.job (
  id bigint generated by default as identity primary key, -- id of the job; a batch never has the same
  queue text collate "C" not null,            -- queue of the job
  kind text collate "C" not null,             -- kind of the job
  key text collate "C",                       -- unique key within the kind
  unique_until text collate "C",              -- how long the key is taken. 'day': until 24 h after the end; 'final': until the end; null: free
  batch_id bigint,                            -- batch of the job; null: a single job
  ref text collate "C",                       -- the caller's own code for the job, such as the code of a document
  state text collate "C" not null default 'waiting', -- state of the job, as above
  claim_rank smallint not null,               -- claim order: priority * 2, + 1 if the job never ran. Jobs that come back go first
  run_at timestamptz not null,                -- earliest start. Never in the past when the job starts to wait, so every claim cursor finds the job
  input jsonb not null,                       -- input of the handler
  result jsonb,                               -- value that the handler returned
  attempt integer not null default 0,         -- number of claims; part of the fence
  failures integer not null default 0,        -- attempts that failed
  crashes integer not null default 0,         -- attempts that ended with their process
  restarts integer not null default 0,        -- attempts that were lost without a fault of the job
  worker_id text collate "C",                 -- worker with the lease; part of the fence
  last_worker text collate "C",               -- worker of the last attempt
  started_at timestamptz,                     -- start of the current attempt
  progress_at timestamptz,                    -- last progress of the handler
  retried_at timestamptz,                     -- last retry or rerun by a person; null: never
  progress jsonb,                             -- last value of ctx.progress
  checkpoint text,                            -- name of the last checkpoint
  group_key text collate "C",                 -- group for limits per group
  limited boolean not null default false,     -- the queue has limits: claimed through job_limited by limit_key, not through job_ready
  error jsonb,                                -- last error, or the reason of a skip
  created_at timestamptz not null,            -- time of the enqueue
  finished_at timestamptz,                    -- time of the final state
  limit_key text collate "C" not null default '', -- the group_key or the batch_id, as limit_key_from of the queue says; '' otherwise
  checkpoint_data json,                       -- data of the last ctx.checkpoint
  version integer,                            -- version of the kind's code that enqueued the job; null: 1, as for most kinds
  crash_suspicion jsonb,                      -- crash suspicion (src/jobs/model/crash-suspicion.ts); null for nearly every job
  trace text collate "C",                     -- W3C traceparent of the enqueue; null: none
  uncounted_attempts integer not null default 0, -- attempts that do not count: released before the start, or deferred by a provider's wait
  policy_override jsonb,                      -- options of the kind's policy that differ for this job; null for nearly every job
  retention jsonb,                            -- final state to milliseconds, of the kind or of the enqueue; null: the retention of the engine
  deferred_by text collate "C",               -- provider whose wait or stop deferred the last attempt; null: none did
  constraint job_state check (state in ('waiting', 'running', 'stalled', 'succeeded', 'failed', 'skipped', 'cancelled')),
  constraint job_leased_while_running check ((state = 'running') = (worker_id is not null)),
  constraint job_finished_when_final check ((finished_at is not null) = (state in ('succeeded', 'failed', 'skipped', 'cancelled'))),
  constraint job_claim_rank check (claim_rank between 0 and 19),
  constraint job_unique_until check (unique_until is null or (key is not null and unique_until in ('day', 'final')))
) with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 5000);

-- Claims of queues without limits, and of queues with limits.
create index job_ready on retoma.job (queue, claim_rank, run_at, id) where state = 'waiting' and not limited;
create index job_limited on retoma.job (queue, claim_rank, limit_key, run_at, id) where state = 'waiting' and limited;
-- Counts of limited jobs, from the job floor on: their keys are in no order of time. `id > 0` as in job_failed: no claim uses this index.
create index job_limited_due on retoma.job (queue, claim_rank, run_at) where state = 'waiting' and limited and id > 0;
-- Unique keys.
create unique index job_key on retoma.job (kind, key) where unique_until is not null;
-- Running jobs are read worker by worker, from the oldest attempt of the worker.
create index job_running on retoma.job (worker_id, started_at) where state = 'running';
create index job_stalled on retoma.job (id) where state = 'stalled';
-- Retention of single jobs; the jobs of a batch go with the batch. Jobs with a retention of their own lie in the order of its end: the time
-- since an epoch, because `timestamptz + interval` is not immutable. A unique key keeps its job for a day. Only final states have a retention.
create index job_finished on retoma.job (finished_at, id)
  where finished_at is not null and batch_id is null and not coalesce(retention ? state, false);
create index job_finished_own on retoma.job (
    ((greatest(finished_at, timestamptz '2000-01-01 00:00:00+00') - timestamptz '2000-01-01 00:00:00+00')
      + greatest(make_interval(secs => (retention ->> state)::float8 / 1000), case when unique_until is not null then interval '24 hours' end)),
    id
  ) where coalesce(retention ? state, false);
-- Lists and bulk retries of failed jobs, newest first. `id > 0` is always true: only a statement that repeats the condition uses this
-- index, so no statement about the failed jobs of one batch does.
create index job_failed on retoma.job (id) where state = 'failed' and id > 0;
-- Failed items of a batch by error fingerprint.
create index job_failed_item on retoma.job (batch_id, (coalesce(error ->> 'cause', '')), id) where state = 'failed' and batch_id is not null;
-- Jobs by the caller's own code. Jobs without a ref pay nothing. `id > 0` as in job_failed: no join over refs reads this index whole.
create index job_ref on retoma.job (ref, id) where ref is not null and id > 0;
-- Poison jobs: each is an incident.
create index job_poison on retoma.job (finished_at) where state = 'failed' and error ->> 'code' = 'poison';

-- Lower bounds of the live entries of job_ready, job_limited_due and job_running, so that counts do not read entries that a long transaction keeps.
-- Written at most once a second, and only after claims found such entries.
create table retoma.job_floor (
  state text collate "C" not null,            -- 'waiting': bound of run_at of a queue and claim rank; 'running': bound of started_at of a worker
  name text collate "C" not null,             -- the queue or the worker
  claim_rank smallint not null,               -- claim rank of the waiting jobs; 0 for a worker
  at timestamptz not null,                    -- the bound
  searched_at timestamptz not null,           -- last search for the first live entry from the start of the index
  primary key (state, name, claim_rank),
  constraint job_floor_state check (state in ('waiting', 'running'))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

-- Attempts -----------------------------------------------------------------------------------------------------------------------

-- Saved results of steps. No foreign key: its check would lock the job's row again for every step. A statement that deletes or reruns
-- a job deletes the checkpoints too.
create table retoma.checkpoint (
  job_id bigint not null,                     -- job of the step
  name text collate "C" not null,             -- name of the step
  attempt integer not null,                   -- attempt that saved the result: identifies a statement that was sent twice
  value json not null,                        -- json and not jsonb: keeps the order of keys and every character
  at timestamptz not null,                    -- time of the save
  primary key (job_id, name)
);

-- One row per failed attempt. The primary key lets a settle that was sent twice write one row.
create table retoma.failure (
  job_id bigint not null references retoma.job on delete cascade, -- job of the attempt
  attempt integer not null,                   -- the failed attempt
  failure_type text collate "C" not null,     -- error, timeout, crash, orphan, hung, stalled
  code text,                                  -- code of the error, if it has one
  message text not null,                      -- message of the error
  stack text,                                 -- stack of the error and of its causes
  worker text,                                -- worker of the attempt
  started_at timestamptz,                     -- start of the attempt; the job row has the start of the last attempt only
  at timestamptz not null,                    -- time of the failure
  evidence jsonb,                             -- of a crash: signal, exit code, memory, last lines of stderr; of an orphan: last sign of the worker
  primary key (job_id, attempt)
);

-- The last log lines of an attempt (ctx.log), at most 200: one row per attempt, written whole, at most once a second. The foreign key
-- removes the lines with the job.
create table retoma.job_log (
  job_id bigint not null references retoma.job on delete cascade, -- job of the attempt
  attempt integer not null,                   -- attempt that wrote the lines
  line_count integer not null,                -- lines the attempt has written; more than kept if early lines were dropped
  lines json not null,                        -- the kept lines, the oldest first: [[at in ms, level, message, facts?], …]
  at timestamptz not null,                    -- last write
  primary key (job_id, attempt)
) with (fillfactor = 80);

-- What attempts have cost (ctx.cost): one row per attempt and currency. No foreign key, as in checkpoint: a statement that deletes a job
-- deletes the costs too; a rerun keeps the costs.
create table retoma.job_cost (
  job_id bigint not null,                     -- job of the attempt
  attempt integer not null,                   -- attempt that reported the cost
  currency text collate "C" not null,         -- ISO 4217, such as USD
  amount numeric not null,                    -- sum of the calls of the attempt, exact
  last_call integer not null,                 -- number of the last call in the sum: identifies a statement that was sent twice
  primary key (job_id, attempt, currency),
  constraint job_cost_currency check (currency ~ '^[A-Z]{3}$'),
  constraint job_cost_amount check (amount >= 0 and amount < 1e30) -- NaN is greater than every number
) with (fillfactor = 80);

-- Limits -------------------------------------------------------------------------------------------------------------------------

-- Counters of the limits of a queue: one row for the queue and one for each group. The claim reads the counter in the statement that has
-- locked the row. A count of running jobs would be older than the lock and let too many jobs start.
create table retoma.limit_counter (
  queue text collate "C" not null,            -- queue with the limit
  group_key text collate "C" not null,        -- '': the queue as a whole
  running integer not null default 0,         -- leases that count against the concurrency
  hit_at timestamptz[] not null default '{}', -- last starts that count against the rate
  hit_n integer[] not null default '{}',      -- number of starts at each of these times
  used_at timestamptz not null,               -- last change
  primary key (queue, group_key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Rate windows of engine.limit and of HTTP routes: the last hits, checked and added in the upsert of the row.
create table retoma.rate_window (
  bucket text collate "C" not null,           -- name of the limit
  who text collate "C" not null,              -- the limited caller, such as a token or an address
  hit_at timestamptz[] not null default '{}', -- times of the last hits
  hit_n integer[] not null default '{}',      -- number of hits at each of these times
  granted boolean not null default true,      -- result of the last check
  expires_at timestamptz not null,            -- end of the window
  primary key (bucket, who)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

create index rate_window_expires on retoma.rate_window (expires_at);
-- A row of 257 times fits a page uncompressed; compression at every hit would cost a third of the check.
alter table retoma.rate_window alter column hit_at set storage plain, alter column hit_n set storage plain;

-- Batches ------------------------------------------------------------------------------------------------------------------------

-- Many jobs with one progress and one end (docs/adr/0014-batches.md). Ids come from the sequence of the jobs, so an id names either a
-- job or a batch.
create table retoma.batch (
  id bigint primary key,                      -- id of the batch; a job never has the same
  name text collate "C" not null,             -- name of the batch definition
  key text collate "C",                       -- unique key within the name
  key_reserved boolean not null default false, -- the key is taken: until 24 h after the end, then the next submit with the key frees it
  kind text collate "C" not null,             -- kind of the items
  queue text collate "C" not null,            -- queue of the items
  policy jsonb not null,                      -- policy at the submit: processes without the code read the policy here
  state text collate "C" not null default 'submitting', -- state of the batch; the constraint lists the values
  claims_blocked boolean not null default false, -- claims blocked: no worker claims items. True in paused and stalled, and while a cascade runs
  priority smallint not null,                 -- priority of the items
  items_received integer not null default 0,  -- items the submit has read; a continued submit skips as many
  total integer not null default 0,           -- jobs of the batch; less than items_received if another job had a key
  chunks integer not null default 0,          -- rows in batch_chunk
  reopen_count integer not null default 0,    -- increases when a finished item waits again: an end that was seen before does not count
  completions integer not null default 0,     -- number of completions
  complete_job bigint,                        -- onComplete job of the last completion; retention may have removed the job
  resumes integer not null default 0,         -- resumes after a stall
  resumed_at timestamptz not null default '-infinity', -- last resume of the batch: maxWait of its items counts from here at the earliest
  reason jsonb,                               -- reason of paused, stalled or failed: { "code", facts }
  stopped_at timestamptz,                     -- last time the batch was paused or stalled; stays after a resume
  stop_baseline_failed integer not null default 0, -- failed items that stopAfter has already counted
  stop_baseline_finished integer not null default 0, -- finished items that stopAfter has already counted
  cascade text collate "C",                   -- cascade in progress: cancel, fail, retry or prune, done in chunks by an action or the watchdog
  cascade_at timestamptz,                     -- start of the cascade
  cascade_chunk integer not null default 0,   -- next chunk of the cascade; not for retry
  cascade_cause text collate "C",             -- retry: error fingerprint of the items; null: all
  cascade_place text collate "C",             -- retry: fingerprint of the next item
  cascade_id bigint,                          -- retry: id of the next item
  retries integer not null default 0,         -- number of retries of the failed items
  retried integer not null default 0,         -- items that the last retry moved
  retry_conflicts integer not null default 0, -- items that the last retry left because another job has the key
  throughput_at timestamptz[] not null default '{}', -- recent samples of the progress, for rate and remaining time: the times
  throughput_done integer[] not null default '{}', -- and the number of finished items at each time
  created_at timestamptz not null,            -- start of the submit
  submitted_at timestamptz,                   -- end of the submit
  finished_at timestamptz,                    -- time of the final state
  stall_clock_started_at timestamptz not null default 'infinity', -- start of the stall clock; infinity: stopped (all items wait for run_at, paused, final)
  deferred_by text collate "C",               -- provider whose wait or stop deferred an item last; a resume clears the value
  streak jsonb,                               -- last failures in a row with one cause, for stopAfter.sameCause: { "cause", "answered", "jobs" }
  constraint batch_state check (state in ('submitting', 'running', 'paused', 'stalled', 'succeeded', 'completed_with_failures', 'failed', 'cancelled')),
  constraint batch_claims_blocked_by_state check (claims_blocked or state not in ('paused', 'stalled')),
  constraint batch_finished_when_final check ((finished_at is not null) = (state in ('succeeded', 'completed_with_failures', 'failed', 'cancelled'))),
  constraint batch_cascade check (cascade is null or cascade in ('cancel', 'fail', 'retry', 'prune'))
) with (fillfactor = 50);

create unique index batch_key on retoma.batch (name, key) where key_reserved;
create index batch_claims_blocked on retoma.batch (id) where claims_blocked;
create index batch_open on retoma.batch (id) where finished_at is null or cascade is not null;
create index batch_finished on retoma.batch (finished_at, id) where finished_at is not null;
-- Finished batches with a retention of their own, in the order of its end, as in job_finished_own.
create index batch_finished_own on retoma.batch (
    ((greatest(finished_at, timestamptz '2000-01-01 00:00:00+00') - timestamptz '2000-01-01 00:00:00+00')
      + greatest(make_interval(secs => (policy -> 'retention' ->> case state when 'completed_with_failures' then 'failed' else state end)::float8 / 1000),
        case when key_reserved then interval '24 hours' end)),
    id
  ) where coalesce(policy -> 'retention' ? case state when 'completed_with_failures' then 'failed' else state end, false);

-- Counters of a batch, one row per shard of the workers: a single row would be a queue of locks. The statement that changes a job changes
-- the counter. One shard may be negative; the sum of the shards never is.
create table retoma.batch_count (
  batch_id bigint not null,                   -- batch of the items
  shard smallint not null,                    -- shard of the worker that counted
  succeeded integer not null default 0,       -- items that succeeded
  failed integer not null default 0,          -- items that failed
  skipped integer not null default 0,         -- items that were skipped
  cancelled integer not null default 0,       -- items that were cancelled
  stalled integer not null default 0,         -- items that are stalled
  started integer not null default 0,         -- claims; started - released is the number of running items
  released integer not null default 0,        -- ends and releases of claims
  progress_at timestamptz,                    -- last end of an attempt, failed attempts included
  last_ref text collate "C",                  -- ref of the job whose attempt ended last
  primary key (batch_id, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Costs of the items of a batch, one row per shard of the workers and currency. The statement that adds to job_cost adds the same amount
-- here. The cost of an erased item stays.
create table retoma.batch_cost (
  batch_id bigint not null,                   -- batch of the items
  shard smallint not null,                    -- shard of the worker that counted
  currency text collate "C" not null,         -- ISO 4217, such as USD
  amount numeric not null,                    -- sum of the costs that the workers of the shard have written, exact
  primary key (batch_id, shard, currency)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Id ranges of the items, one row per statement of the submit. Lists and cascades walk the ranges, so no index of job spans waiting,
-- running and final jobs.
create table retoma.batch_chunk (
  batch_id bigint not null,                   -- batch of the items
  n integer not null,                         -- number of the chunk
  first_id bigint not null,                   -- id of the first job of the chunk
  last_id bigint not null,                    -- id of the last job of the chunk
  items integer not null,                     -- jobs in the chunk
  primary key (batch_id, n)
);

-- Files --------------------------------------------------------------------------------------------------------------------------

-- A file in chunks of at most 1 MB, so that every process can read it and no process needs to hold it whole. A file without an owner is
-- removed by the janitor after one day: an upload that broke off, or a file whose batch or job is gone.
create table retoma.file (
  id bigint generated by default as identity primary key, -- id of the file
  name text not null,                         -- name of the file, as the caller gave it
  type text not null,                         -- media type
  size bigint not null,                       -- bytes; 0 during the upload
  sha256 bytea,                               -- null during the upload
  batch_id bigint references retoma.batch (id) on delete set null, -- batch that keeps the file
  job_id bigint references retoma.job (id) on delete set null, -- job that keeps the file
  content_id bigint,                          -- file with the chunks, if this file shares the chunks of another; null: chunks of its own
  shares integer not null default 0,          -- files that share the chunks of this file; above 0 the row and the chunks stay
  created_at timestamptz not null             -- start of the upload
);

create index file_without_owner on retoma.file (created_at) where batch_id is null and job_id is null and shares = 0;
create index file_batch on retoma.file (batch_id) where batch_id is not null;
create index file_job on retoma.file (job_id) where job_id is not null;

create table retoma.file_chunk (
  file_id bigint not null references retoma.file (id) on delete cascade, -- file of the chunk
  n integer not null,                         -- number of the chunk
  bytes bytea not null,                       -- content of the chunk
  primary key (file_id, n)
);
-- Most uploads are compressed already.
alter table retoma.file_chunk alter column bytes set storage external;

-- Schedules, providers, guards ---------------------------------------------------------------------------------------------------

-- Only processes with the schedule in their code write the row and enqueue its jobs. One conditional update on (name, next_at) wins an
-- occurrence; the job is inserted in the same transaction.
create table retoma.schedule (
  name text collate "C" primary key,          -- name of the schedule
  kind text collate "C" not null,             -- kind of the jobs
  recurrence jsonb not null,                  -- recurrence in force: {"cron", "timeZone"} or {"every": milliseconds}
  catch_up text collate "C" not null,         -- what happens to missed occurrences
  next_at timestamptz not null,               -- next occurrence
  last_occurrence timestamptz,                -- last occurrence with a job
  last_at timestamptz,                        -- time the last job was enqueued, by the recurrence or by a person
  last_job bigint,                            -- that job; retention may have removed it
  seen_at timestamptz not null,               -- last check by a process with the recurrence in force
  retired jsonb[] not null default '{}',      -- earlier recurrences, the last first
  paused boolean not null default false,      -- true: occurrences pass without a job
  constraint schedule_catch_up check (catch_up in ('skip', 'once', 'all'))
);

-- An outside service that jobs ask. During a wait or a stop no attempt of any process asks the provider: the job is deferred and the
-- attempt does not count. One job a minute probes a stopped provider.
create table retoma.provider (
  name text collate "C" primary key,          -- name of the provider, as in ctx.provider
  kinds text[] not null default '{}',         -- kinds whose jobs met the wait or the stop
  wait_until timestamptz not null default '-infinity', -- end of the wait
  consecutive_waits integer not null default 0, -- waits in a row without a response between them
  stopped_at timestamptz,                     -- start of the stop
  probe_at timestamptz,                       -- stop: time of the next probe
  probe_job bigint,                           -- stop: job that may probe, although its batch is paused
  code text collate "C",                      -- code of the provider's last refusal
  message text,                               -- message of the provider's last refusal
  at timestamptz not null,                    -- time of that refusal
  cleared_at timestamptz,                     -- last end of a wait or stop: requests sent before then stop the provider no more
  backoff_step integer not null default 0,    -- waits in a row without a stated length: each makes the next longer
  probe_error text,                           -- stop: result of the last probe, other than a response
  probe_error_at timestamptz,                 -- time of that result
  last_probe_job bigint,                      -- job of the last probe
  waited_until timestamptz,                   -- end of a wait that was ended early: deferred jobs are found by this time. null: none is left
  waits_since timestamptz,                    -- start of the waits without a response; after half an hour the provider counts as stopped
  never_stops boolean not null default false  -- the last wait never counts as a stop
);

create index provider_probe on retoma.provider (probe_job) where probe_job is not null;

-- Rules of the watchdog over tables of the user. Only processes with the guard in their code write the row; the process that advances
-- swept_at runs the sweep.
create table retoma.guard (
  name text collate "C" primary key,          -- name of the guard
  about jsonb not null,                       -- the rule, as the code of the last sweep defines it
  swept_at timestamptz,                       -- last sweep; null: never
  last_marked integer not null default 0,     -- rows marked by the last sweep
  total bigint not null default 0,            -- rows marked by all sweeps
  last_error jsonb,                           -- {"code", "en", "pt"} if the last sweep failed
  failing_since timestamptz,                  -- first failed sweep in a row
  warnings jsonb not null default '[]'        -- [{"en", "pt"}], such as a missing index
);

-- Events, findings, incidents ----------------------------------------------------------------------------------------------------

-- Failures and actions of jobs, batches and queues; no event for a job that succeeds. The statement that makes a change inserts its event.
-- A reader gives the event its position after the commit, under an advisory lock: positions become visible in order, and a late commit
-- is not skipped (docs/adr/0013-events.md). No foreign keys: their checks would lock the job's row again.
create table retoma.event (
  id bigint generated by default as identity primary key, -- id of the event
  seq bigint,                                 -- position in the stream; null: not given yet
  at timestamptz not null,                    -- time of the event
  type text collate "C" not null,             -- state: of a job or a batch; action: of a person; warning
  job_id bigint,                              -- job of the event; null: none
  batch_id bigint,                            -- the batch itself, or the batch of the job
  data jsonb not null,                        -- content of the event
  constraint event_type check (type in ('state', 'action', 'warning'))
);

create sequence retoma.event_seq_seq as bigint owned by retoma.event.seq;

create index event_without_seq on retoma.event (id) where seq is null;
create unique index event_seq on retoma.event (seq);
create index event_job on retoma.event (job_id, seq) where job_id is not null;
create index event_batch on retoma.event (batch_id, seq) where batch_id is not null;

-- One row: the last position that retention removed. A reader at an earlier position has missed events.
create table retoma.event_pruned (
  seq bigint primary key                      -- position of the last removed event
);

insert into retoma.event_pruned (seq) values (0);

-- Problems that the watchdog reports and does not mend (hung, slow, starved, late). A row exists as long as the problem.
create table retoma.finding (
  verdict text collate "C" not null,          -- verdict of the watchdog, such as hung
  subject text collate "C" not null,          -- such as job:17, worker:w-…, queue:mail/kind:send
  since timestamptz not null,                 -- start of the problem
  seen_at timestamptz not null,               -- last check that found the problem
  facts jsonb not null,                       -- facts of the verdict
  primary key (verdict, subject)
);

-- Incidents that a person is notified of: one row for each, until some time after its end.
create table retoma.incident (
  id bigint generated by default as identity primary key, -- id of the incident
  event text collate "C" not null,            -- name of the notice, such as batch.stalled
  subject text collate "C" not null,          -- such as batch:17, job:4, queue:mail/kind:send
  severity text collate "C" not null,         -- severity of the notice
  facts jsonb not null,                       -- facts for the sentence of the notice
  since timestamptz not null,                 -- start of the problem
  found_at timestamptz not null,              -- time the incident was found
  opened_job bigint,                          -- job that sends the notice; null: counted in one notice for many incidents
  resolving_since timestamptz,                -- the problem is absent since, if it must stay absent for a while to be over
  resolved_at timestamptz,                    -- end of the incident
  resolved_job bigint                         -- job that sends the notice of the end
);

create unique index incident_open on retoma.incident (event, subject) where resolved_at is null;
create index incident_found on retoma.incident (found_at);
create index incident_resolved on retoma.incident (resolved_at) where resolved_at is not null;

-- Metrics ------------------------------------------------------------------------------------------------------------------------

-- Counts of unfinished jobs, sampled periodically, so that /metrics, stats and depth limits count nothing themselves.
create table retoma.job_count_sample (
  queue text collate "C" not null,            -- queue of the jobs
  kind text collate "C" not null,             -- kind of the jobs
  state text collate "C" not null,            -- ready, scheduled, running, stalled
  jobs bigint not null,                       -- number of jobs
  oldest_at timestamptz,                      -- ready: run_at of the oldest job
  primary key (queue, kind, state)
);

-- Counters of the workers (ends, durations by bucket, retries), one row per series and process. Each process writes its own rows every
-- few seconds; the rows of an ended process are added to the process ''.
create table retoma.metric (
  process text collate "C" not null,          -- worker id of the process; '': sum of ended processes
  name text collate "C" not null,             -- name of the metric
  labels jsonb not null,                      -- labels of the series
  value jsonb not null,                       -- value of the counter, or the buckets of the histogram
  at timestamptz not null,                    -- last write
  primary key (process, name, labels)
);

-- History of the queues for charts: one row per queue and minute, kept 48 hours, and one per queue and hour, kept 90 days. The workers add
-- to both rows with their heartbeats. The buckets have the bounds of src/metrics/model/histogram.ts.
create table retoma.queue_history (
  seconds integer not null,                   -- length of the row: 60 or 3600
  at timestamptz not null,                    -- start of the minute or hour
  queue text collate "C" not null,            -- queue of the attempts
  started bigint not null,                    -- handlers that started
  succeeded bigint not null,                  -- attempts by their end
  skipped bigint not null,                    -- attempts that ended with skip
  failed bigint not null,                     -- the job failed for good
  retried bigint not null,                    -- the attempt failed, and the job waits for another
  deferred bigint not null,                   -- releases, snoozes and provider waits
  duration_ms bigint not null,                -- sum of the durations of ended attempts
  waiting_ms bigint not null,                 -- sum of the times from ready to started
  durations integer[] not null,               -- ended attempts by bucket of the duration
  waitings integer[] not null,                -- started attempts by bucket of the waiting time
  primary key (seconds, at, queue),
  constraint queue_history_seconds check (seconds in (60, 3600))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);

-- Access -------------------------------------------------------------------------------------------------------------------------

-- API tokens, stored as hashes.
create table retoma.token (
  id bigint generated by default as identity primary key, -- id of the token
  hash bytea not null,                        -- hash of the token
  shown text not null,                        -- first characters of the token, so that a person can tell tokens apart
  user_name text collate "C" not null,        -- name of the person or program
  role text collate "C" not null check (role in ('viewer', 'operator', 'admin')), -- permissions of the token
  created_at timestamptz not null,            -- time of the creation
  created_by text,                            -- actor that created the token
  used_at timestamptz,                        -- last use; written at most once a minute
  revoked_at timestamptz                      -- time of the revocation; null: valid
);

create unique index token_hash on retoma.token (hash);

-- Logins of the dashboard, stored as hashes of the cookie.
create table retoma.session (
  hash bytea primary key,                     -- hash of the cookie
  token_id bigint not null references retoma.token (id) on delete cascade, -- token of the login
  created_at timestamptz not null,            -- time of the login
  expires_at timestamptz not null             -- end of the login
);

create index session_token on retoma.session (token_id);
create index session_expires on retoma.session (expires_at);

-- The first response to a POST with an Idempotency-Key, for one day.
create table retoma.idempotency (
  who text collate "C" not null,              -- principal of the request
  route text collate "C" not null,            -- method and path of the request
  key text collate "C" not null,              -- value of the header
  body_hash bytea not null,                   -- hash of the request body: another body with the same key is refused
  status integer,                             -- status of the response; null: the request is in progress
  response jsonb,                             -- body of the response
  at timestamptz not null,                    -- time of the first request
  primary key (who, route, key)
);

create index idempotency_at on retoma.idempotency (at);
