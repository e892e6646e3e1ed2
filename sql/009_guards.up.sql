-- Guards: what watches tables that are not ours. A row is written by processes that have the guard in their code; whoever
-- moves ticked_at on does that look, so any number of processes look once per `every`.
create table retoma.guard (
  name text collate "C" primary key,
  about jsonb not null,                      -- what it looks for and does, as the code that looked last says it
  ticked_at timestamptz,                     -- when it was last looked; null: never
  last_marked integer not null default 0,    -- rows marked since then
  total bigint not null default 0,           -- rows marked ever
  last_error jsonb,                          -- {"code", "en", "pt"} when the last look failed
  failing_since timestamptz,
  warnings jsonb not null default '[]'       -- [{"en", "pt"}], such as a missing index
);
