alter table retoma.batch drop column streak;
