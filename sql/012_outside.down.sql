alter table retoma.job drop column unspent;
drop table retoma.provider;
drop table retoma.file_chunk;
drop table retoma.file;
