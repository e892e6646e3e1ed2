drop index retoma.job_gated;
drop table retoma.gate;
update retoma.job set gated = false, run_at = greatest(run_at, now()) where gated and state = 'waiting';
update retoma.job set gated = false where gated;
alter table retoma.job drop column gate_key;
alter table retoma.queue drop column gated, drop column grouped;
