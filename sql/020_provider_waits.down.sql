alter table retoma.provider drop column waits_since;
