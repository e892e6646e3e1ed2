-- Where the live entries of job_ready and job_running begin, so that counts do not read what a long transaction keeps in them.
-- Written once a second at most, and only while claims have found such entries.
create table retoma.floor (
  what text collate "C" not null,    -- 'waiting': of a queue and rank, by run_at; 'running': of a worker, by started_at
  name text collate "C" not null,
  rank smallint not null,
  at timestamptz not null,
  searched_at timestamptz not null,  -- when the first live entry was last looked for from the start of the index
  primary key (what, name, rank),
  constraint floor_what check (what in ('waiting', 'running'))
) with (fillfactor = 50);

insert into retoma.tick (name, at) values ('floor', '-infinity') on conflict do nothing;

-- What runs is read worker by worker, from the oldest attempt the worker holds.
drop index retoma.job_running;
create index job_running on retoma.job (worker_id, started_at) where state = 'running';

-- Every job leaves dead rows, and small tables that change every second leave nothing but dead rows: vacuumed by their number
-- and not by a fifth of a table that keeps the finished jobs of ninety days.
alter table retoma.job set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 5000);
alter table retoma.worker set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);
alter table retoma.queue set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);
alter table retoma.tick set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, fillfactor = 50);
alter table retoma.floor set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
alter table retoma.batch_count set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
alter table retoma.gate set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
alter table retoma.rate_window set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500);
