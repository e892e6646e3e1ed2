-- What a job has done so far: saved results of its steps, and the place that code which keeps its own has noted.
--
-- No foreign key: its check would lock the job's row a second time for every step. Whoever deletes a job, or runs it anew,
-- deletes these in the same statement.

create table retoma.checkpoint (
  job_id bigint not null,
  name text collate "C" not null,
  attempt integer not null,           -- who saved it: a statement sent twice is known by it
  value json not null,                -- not jsonb: the order of keys and every character come back as they were
  at timestamptz not null,
  primary key (job_id, name)
);

alter table retoma.job add column resume json;  -- what ctx.checkpoint noted last
