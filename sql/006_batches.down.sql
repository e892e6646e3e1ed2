alter table retoma.queue drop column unheld;
drop index retoma.job_failed_item;
drop index retoma.job_finished;
create index job_finished on retoma.job (finished_at, id) where finished_at is not null;
drop table retoma.batch_chunk;
drop table retoma.batch_count;
drop table retoma.batch;
