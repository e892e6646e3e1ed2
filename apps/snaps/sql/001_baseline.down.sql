drop view snaps.snap_processing_job;
drop table snaps.snap;
