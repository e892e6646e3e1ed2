drop table retoma.schedule;
