drop table retoma.guard;
