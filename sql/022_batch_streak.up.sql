-- The last failures in a row with one cause, for stopAfter.sameCause: { "cause", "answered": items that had not failed by then, "jobs": ids }.
alter table retoma.batch add column streak jsonb;
