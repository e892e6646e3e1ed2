alter table retoma.rate_window reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
alter table retoma.gate reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
alter table retoma.batch_count reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
alter table retoma.tick reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, fillfactor);
alter table retoma.queue reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, fillfactor);
alter table retoma.worker reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, fillfactor);
alter table retoma.job reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
  autovacuum_analyze_scale_factor, autovacuum_analyze_threshold);
drop index retoma.job_running;
create index job_running on retoma.job (worker_id) where state = 'running';
delete from retoma.tick where name = 'floor';
drop table retoma.floor;
