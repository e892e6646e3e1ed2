-- Since when a provider has had everybody wait without one answer in between; null: it does not. After half an hour it counts as stopped.
alter table retoma.provider add column waits_since timestamptz;
