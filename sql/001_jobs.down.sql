drop table retoma.failure;
drop table retoma.job;
drop table retoma.worker;
drop table retoma.queue;
drop table retoma.kind;
