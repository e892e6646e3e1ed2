alter table retoma.queue drop column unheld;
drop index retoma.job_failed_item;
drop table retoma.batch_chunk;
drop table retoma.batch_count;
drop table retoma.batch;
