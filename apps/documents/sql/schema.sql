-- The schema after all migrations, read from PostgreSQL's catalog by `npm run docs`. Do not edit: change sql/NNN_*.sql.

create table documents.documents (
  id uuid not null,
  user_id text not null,
  filename text not null,
  size bigint not null,
  sha256 bytea not null,
  file_id bigint not null,
  status text collate "C" not null,
  error_message text,
  job_id bigint not null,
  attempt integer,
  pages integer,
  title text,
  language text collate "C",
  text text,
  text_complete boolean,
  thumbnail_id bigint,
  search tsvector not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint documents_status CHECK ((status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text, 'DONE'::text, 'FAILED'::text]))),
  constraint documents_pkey PRIMARY KEY (id)
);

CREATE INDEX documents_deleted ON documents.documents USING btree (id) WHERE (deleted_at IS NOT NULL);

CREATE INDEX documents_open ON documents.documents USING btree (job_id) WHERE (status = ANY (ARRAY['PENDING'::text, 'PROCESSING'::text]));

CREATE INDEX documents_processing ON documents.documents USING btree (updated_at) WHERE (status = 'PROCESSING'::text);

CREATE INDEX documents_same ON documents.documents USING btree (user_id, sha256, id);

CREATE INDEX documents_search ON documents.documents USING gin (search);

CREATE INDEX documents_user ON documents.documents USING btree (user_id, id);
