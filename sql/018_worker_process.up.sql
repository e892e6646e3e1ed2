-- Which process a worker is, and which its supervisor, so that another process on the same machine can prove that both have ended: a
-- pid alone is used again.
alter table retoma.worker add column process jsonb;
