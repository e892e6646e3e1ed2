-- What it takes to explain a stall and a death: how a worker's process is, what it died of, and which jobs need care.

-- As its heart last told, from a thread of its own: so a blocked main loop is told by somebody.
alter table retoma.worker
  add column in_flight integer not null default 0,      -- attempts whose handler runs
  add column abandoned integer not null default 0,      -- handlers that did not end though they were told to
  add column free_slots jsonb not null default '{}',    -- queue to how many more of its jobs it could run now
  add column unwritten_ms integer not null default 0,   -- how long the oldest outcome or step has waited for the database
  add column unblocked_at timestamptz,                  -- when its main loop last came free after seconds: clocks of attempts stood still
  add column blocked_job bigint,                        -- the job on the blocked stack, where it could be told
  add column blocked_attempt integer,
  add column blocked_stack text,
  add column supervised boolean not null default false, -- somebody starts it again when it dies
  add column death jsonb;                               -- the certificate, when a supervisor saw it die (src/supervisor/model/crash-report.ts)

-- Null for nearly every job. { level, death, deaths, fruitless }: it may have killed its process, or never gets anywhere
-- (src/jobs/model/crash-suspicion.ts). Not in any index: who claims such a job decides how to run it.
alter table retoma.job add column care jsonb;

-- What a dead child or process left as evidence: signal, exit code, memory, the end of its stderr.
alter table retoma.failure add column evidence jsonb;

-- What the watchdog has found and only reports (hung, slow, starved, late): a row for as long as it is so.
create table retoma.finding (
  verdict text collate "C" not null,
  subject text collate "C" not null,  -- such as job:17, worker:w-…, queue:mail/kind:send
  since timestamptz not null,
  seen_at timestamptz not null,
  facts jsonb not null,
  primary key (verdict, subject)
);

-- Since when somebody has looked without a gap: what nobody could look at, such as an outage, counts against nobody.
alter table retoma.tick add column since timestamptz not null default '-infinity';

-- Since when a batch's stall clock runs; infinity: it stands still (all of it waits for a run_at, it is paused, it is over).
-- Written only when that changes.
alter table retoma.batch add column stall_from timestamptz not null default 'infinity';
