-- Limits: how many jobs of a queue, or of one group in it, run at once and start within a time.
--
-- A job of a queue with such limits is `gated`: it is not in the open index, and is claimed by its gate_key. The count and
-- the starts are kept in the gate's own row and read in the statement that has locked it; a count of running jobs by the
-- statement that locks is older than its lock, and lets more through than may.

alter table retoma.queue
  add column gated boolean not null default false,    -- it has a concurrency or a rate: its jobs pass a gate
  add column grouped boolean not null default false;  -- and that for each group_key too

alter table retoma.job
  add column gate_key text collate "C" not null default '';  -- group_key where the queue is grouped; '' otherwise

create table retoma.gate (
  queue text collate "C" not null,
  group_key text collate "C" not null,                -- '' is the queue as a whole
  running integer not null default 0,                 -- leases that count against a concurrency
  hit_at timestamptz[] not null default '{}',         -- the last starts that count against a rate, and how many at each
  hit_n integer[] not null default '{}',
  used_at timestamptz not null,
  primary key (queue, group_key)
) with (fillfactor = 50);                             -- room for the next version of a row in its own page

create index job_gated on retoma.job (queue, gate_key, rank, run_at, id) where state = 'waiting' and gated;
