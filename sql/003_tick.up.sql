-- When somebody last looked after the workers. Any number of watchdogs may tick; one conditional update wins, the others
-- find that it was done and write nothing. And a person can see whether anybody looks at all.

create table retoma.tick (
  name text collate "C" primary key,
  at timestamptz not null
);

insert into retoma.tick (name, at) values ('watchdog', '-infinity');

-- How often a suspect was found silent: the verdict where looks are too far apart to be a watch (a database that flaps).
alter table retoma.worker add column suspected_looks integer not null default 0;
