-- Which version of its kind's code a job was made by, and which versions a worker runs (docs/adr/0012-versions.md).
--
-- Null is version 1: kinds that have no other, which are most, pay neither a byte nor a comparison for it.

alter table retoma.job add column version integer;
alter table retoma.worker add column versions jsonb not null default '{}';  -- kind to [oldest, newest], where that is not [1, 1]
