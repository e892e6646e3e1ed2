-- Drops the tables of the engine. Without `cascade`: an object of somebody else that depends on a table stops the migration.
drop table
  retoma.idempotency, retoma.session, retoma.token, retoma.queue_history, retoma.metric, retoma.job_count_sample, retoma.incident, retoma.finding,
  retoma.event_pruned, retoma.event, retoma.guard, retoma.provider, retoma.schedule, retoma.file_chunk, retoma.file,
  retoma.batch_chunk, retoma.batch_cost, retoma.batch_count, retoma.batch, retoma.rate_window, retoma.limit_counter, retoma.job_cost, retoma.job_log, retoma.failure, retoma.checkpoint,
  retoma.job_floor, retoma.job, retoma.periodic_lease, retoma.worker, retoma.queue, retoma.kind,
  retoma.system_migration;
