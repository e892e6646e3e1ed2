alter table retoma.worker drop column versions;
alter table retoma.job drop column version;
