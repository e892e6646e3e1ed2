alter table retoma.worker drop column suspected_looks;
drop table retoma.tick;
