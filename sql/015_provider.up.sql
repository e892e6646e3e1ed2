-- Waits in a row that did not say for how long: those alone make the next such wait longer.
alter table retoma.provider add column backoffs integer not null default 0;

-- Of a stopped one: what the last job that was let through to it met instead of an answer, and which job had the last pass.
alter table retoma.provider add column trouble text;
alter table retoma.provider add column trouble_at timestamptz;
alter table retoma.provider add column probe_last bigint;

-- The end of a wait that came to its end early: jobs that were handed back until then are called back. null: nothing is left of it.
alter table retoma.provider add column waited_until timestamptz;
