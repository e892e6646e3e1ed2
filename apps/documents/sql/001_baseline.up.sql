-- The table of the documents (apps/documents): a plain table with a status, which a guard watches.

-- A document of a user. The job job_id processes the document; its attempts write here only while job_id, attempt and status are theirs, so
-- that neither a late attempt nor an earlier job changes a document that the guard has marked FAILED.
create table documents.documents (
  id uuid primary key,                    -- sorted by time; random, so that the ids of one user say nothing about other users
  user_id text not null,                  -- the user who sent the document; other users do not see the document
  filename text not null,                 -- name of the file, without a path
  size bigint not null,                   -- bytes
  sha256 bytea not null,                  -- of the bytes; the same bytes of the same user are duplicates
  file_id bigint not null,                -- the file as sent
  status text collate "C" not null,       -- PENDING, PROCESSING, DONE or FAILED
  error_message text,                     -- why the document is FAILED; null otherwise
  job_id bigint not null,                 -- job that processes the document; a reprocess makes another
  attempt integer,                        -- attempt of the job that has the document; null: no attempt has begun
  pages integer,                          -- null: not read yet
  title text,                             -- of the PDF, or its first line
  language text collate "C",              -- pt or en; null: another language, or too little text
  text text,                              -- the text of the pages, up to 1,000,000 characters
  text_complete boolean,                  -- false: pages are missing from the text, because they are unreadable or too many
  thumbnail_id bigint,                    -- picture of page 1; null: none
  search tsvector not null,               -- words of the name, the title and the text, and a word for the user
  created_at timestamptz not null,        -- time of the creation
  updated_at timestamptz not null,        -- last sign of progress; the guard compares this column
  deleted_at timestamptz,                 -- the document is being erased, and no route shows the document
  constraint documents_status check (status in ('PENDING', 'PROCESSING', 'DONE', 'FAILED'))
);

-- The list of a user, newest first.
create index documents_user on documents.documents (user_id, id);
-- The same bytes of the same user.
create index documents_same on documents.documents (user_id, sha256, id);
create index documents_search on documents.documents using gin (search);
-- The guard.
create index documents_processing on documents.documents (updated_at) where status = 'PROCESSING';
-- Documents whose job may have ended without the document.
create index documents_open on documents.documents (job_id) where status in ('PENDING', 'PROCESSING');
create index documents_deleted on documents.documents (id) where deleted_at is not null;
