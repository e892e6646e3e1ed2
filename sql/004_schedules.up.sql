-- When which job comes in by itself. A row is written by processes that have the schedule in their code, and only they
-- fire it: one conditional update on (name, next_at) wins a slot, and its job is inserted in the same transaction.
create table retoma.schedule (
  name text collate "C" primary key,
  kind text collate "C" not null,
  plan jsonb not null,                       -- {"cron", "timeZone"} or {"every": milliseconds}: the one in force
  catch_up text collate "C" not null,
  next_at timestamptz not null,              -- the next slot
  last_slot timestamptz,                     -- the last slot a job was made for
  last_at timestamptz,                       -- when the last job was made, by plan or by hand
  last_job bigint,                           -- that job; it may have been removed after its retention
  seen_at timestamptz not null,              -- when a process with the plan in force last looked
  retired jsonb[] not null default '{}',     -- plans that were in force before, the last one first
  constraint schedule_catch_up check (catch_up in ('skip', 'once', 'all'))
);
