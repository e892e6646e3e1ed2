alter table retoma.provider drop column waited_until;
alter table retoma.provider drop column probe_last;
alter table retoma.provider drop column trouble_at;
alter table retoma.provider drop column trouble;
alter table retoma.provider drop column backoffs;
