drop view planner.planner_job;
drop table planner.job;
