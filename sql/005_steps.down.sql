alter table retoma.job drop column resume;
drop table retoma.checkpoint;
