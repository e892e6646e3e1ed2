alter table retoma.batch drop column stall_from;
alter table retoma.tick drop column since;
drop table retoma.finding;
alter table retoma.failure drop column evidence;
alter table retoma.job drop column care;
alter table retoma.worker
  drop column in_flight,
  drop column abandoned,
  drop column free_slots,
  drop column unwritten_ms,
  drop column unblocked_at,
  drop column blocked_job,
  drop column blocked_attempt,
  drop column blocked_stack,
  drop column supervised,
  drop column death;
