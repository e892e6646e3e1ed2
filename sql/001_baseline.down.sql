-- Drops the tables of the engine. Without `cascade`: an object of somebody else that depends on a table stops the migration.
drop table
  retoma.idempotency, retoma.session, retoma.token, retoma.metric, retoma.sample, retoma.incident, retoma.finding,
  retoma.event_removed, retoma.event, retoma.guard, retoma.provider, retoma.schedule, retoma.file_chunk, retoma.file,
  retoma.batch_chunk, retoma.batch_count, retoma.batch, retoma.rate_window, retoma.gate, retoma.failure, retoma.checkpoint,
  retoma.floor, retoma.job, retoma.tick, retoma.worker, retoma.queue, retoma.kind,
  retoma.system_migration;
