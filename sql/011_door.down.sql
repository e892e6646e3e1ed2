delete from retoma.tick where name = 'sample';
alter table retoma.job drop column trace;
drop table retoma.incident;
drop table retoma.metric;
drop table retoma.sample;
drop table retoma.idempotency;
drop table retoma.rate_window;
drop table retoma.session;
drop table retoma.token;
