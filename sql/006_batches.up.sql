-- Batches: many jobs with one progress. docs/adr/0014-batches.md has the reasons, docs/state-machine.md the verbs.
--
-- Lock order, everywhere: batch, jobs by id, gates by key, batch_count by (batch, shard). A flush of outcomes never locks
-- `batch`. Ids come from the jobs' own sequence, so that an id names one thing, a job or a batch.

create table retoma.batch (
  id bigint primary key,
  name text collate "C" not null,
  key text collate "C",
  key_held boolean not null default false,    -- until 24 h after its end, then freed by whoever wants the key
  kind text collate "C" not null,             -- of its jobs
  queue text collate "C" not null,
  policy jsonb not null,                      -- as its submit brought it: a process without the code can judge it
  state text collate "C" not null default 'submitting',
  held boolean not null default false,        -- no claim takes its jobs; true while one of its states says so, or rows still follow
  priority smallint not null,
  taken integer not null default 0,           -- how far into the list its submit is; continuing skips so many
  total integer not null default 0,           -- jobs it has; less than taken where a key was held by another job
  chunks integer not null default 0,
  epoch integer not null default 0,           -- moves whenever a finished job of it waits again: an end seen before counts no more
  ends integer not null default 0,
  complete_job bigint,                        -- the onComplete job of its last end; it may have been removed after its retention
  resumes integer not null default 0,
  reason jsonb,                               -- why it is paused, stalled or failed: { "code", facts }
  stop_failed integer not null default 0,     -- what stopAfter has already been told of
  stop_ended integer not null default 0,
  todo text collate "C",                      -- rows still to follow, in bites by the verb or a tick: cancel, fail, retry, prune
  todo_at timestamptz,
  todo_chunk integer not null default 0,      -- all but retry: the next chunk
  todo_cause text collate "C",                -- retry: only these, null for all; and the place it has come to
  todo_place text collate "C",
  todo_id bigint,
  retries integer not null default 0,         -- how often its failed ones were retried, and what the last time moved and left
  retried integer not null default 0,
  retried_held integer not null default 0,
  sample_at timestamptz[] not null default '{}',  -- how many had ended when, lately: for rate and time left
  sample_done integer[] not null default '{}',
  created_at timestamptz not null,
  submitted_at timestamptz,
  finished_at timestamptz,
  constraint batch_state check (state in ('submitting', 'running', 'paused', 'stalled', 'succeeded', 'failed', 'cancelled')),
  constraint batch_held_by_state check (held or state not in ('paused', 'stalled')),
  constraint batch_finished_when_final check ((finished_at is not null) = (state in ('succeeded', 'failed', 'cancelled'))),
  constraint batch_todo check (todo is null or todo in ('cancel', 'fail', 'retry', 'prune'))
) with (fillfactor = 50);

create unique index batch_key on retoma.batch (name, key) where key_held;
create index batch_held on retoma.batch (id) where held;
create index batch_open on retoma.batch (id) where finished_at is null or todo is not null;
create index batch_finished on retoma.batch (finished_at, id) where finished_at is not null;

-- What has ended, counted by the statement that ends it, in a row for each shard of the workers: one row for all would be
-- a line to stand in. A row comes with its first use; a shard alone may be negative, their sum never is.
create table retoma.batch_count (
  batch_id bigint not null,
  shard smallint not null,
  succeeded integer not null default 0,
  failed integer not null default 0,
  skipped integer not null default 0,
  cancelled integer not null default 0,
  stalled integer not null default 0,
  begun integer not null default 0,           -- claims, in shards of their own; less what was freed again, that is how many run
  freed integer not null default 0,
  progress_at timestamptz,                    -- the last end of an attempt, failed ones too
  last_ref text collate "C",                  -- of the last job whose attempt ended
  primary key (batch_id, shard)
) with (fillfactor = 50);

-- Which ids a batch has: a statement of its submit each. Lists and bites walk these ranges, so that no index of job spans
-- waiting, running and final.
create table retoma.batch_chunk (
  batch_id bigint not null,
  n integer not null,
  first_id bigint not null,
  last_id bigint not null,
  items integer not null,
  primary key (batch_id, n)
);

-- Jobs of a batch go with it, whole: by themselves they are in no list of the old.
drop index retoma.job_finished;
create index job_finished on retoma.job (finished_at, id) where finished_at is not null and batch_id is null;

-- Failures by cause.
create index job_failed_item on retoma.job (batch_id, (coalesce(error ->> 'cause', '')), id) where state = 'failed' and batch_id is not null;

-- Moves when what a claim passed by may be claimed after all (a pause is over): claims then begin at the start once.
alter table retoma.queue add column unheld integer not null default 0;
