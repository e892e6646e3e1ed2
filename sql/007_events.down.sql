drop table retoma.event_removed;
drop table retoma.event;
