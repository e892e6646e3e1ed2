alter table retoma.worker drop column process;
