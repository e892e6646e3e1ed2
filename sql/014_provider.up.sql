-- Waits in a row that did not say for how long: those alone make the next such wait longer.
alter table retoma.provider add column backoffs integer not null default 0;
