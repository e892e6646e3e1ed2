-- The schema after all migrations, read from PostgreSQL's catalog by `npm run docs`. Do not edit: change sql/NNN_*.sql.

create table documents.bank_account (
  item_id text collate "C" not null,
  id text collate "C" not null,
  user_id text not null,
  name text not null,
  type text collate "C" not null,
  subtype text collate "C",
  last_digits text collate "C",
  currency text collate "C" not null,
  balance numeric(18,2) not null,
  balance_at timestamp with time zone not null,
  simulated boolean not null,
  created_at timestamp with time zone not null,
  removed_at timestamp with time zone,
  window_from date not null,
  sync_id uuid not null,
  position jsonb,
  is_read boolean not null,
  synced_to timestamp with time zone,
  constraint bank_account_item_id_fkey FOREIGN KEY (item_id) REFERENCES documents.bank_item(id),
  constraint bank_account_pkey PRIMARY KEY (item_id, id)
);

CREATE INDEX bank_account_user ON documents.bank_account USING btree (user_id, item_id, id);

create table documents.bank_item (
  id text collate "C" not null,
  user_id text not null,
  institution text,
  status text collate "C" not null,
  status_detail text collate "C",
  checked_at timestamp with time zone not null,
  synced_at timestamp with time zone,
  simulated boolean not null,
  created_at timestamp with time zone not null,
  constraint bank_item_pkey PRIMARY KEY (id)
);

CREATE INDEX bank_item_user ON documents.bank_item USING btree (user_id, id);

create table documents.bank_sync (
  id uuid not null,
  user_id text not null,
  item_id text collate "C",
  job_id bigint not null,
  simulated boolean not null,
  accounts integer not null default 0,
  added integer not null default 0,
  changed integer not null default 0,
  removed integer not null default 0,
  created_at timestamp with time zone not null,
  constraint bank_sync_pkey PRIMARY KEY (id),
  constraint bank_sync_job_id_key UNIQUE (job_id)
);

CREATE INDEX bank_sync_user ON documents.bank_sync USING btree (user_id, id);

create table documents.bank_transaction (
  item_id text collate "C" not null,
  account_id text collate "C" not null,
  id text collate "C" not null,
  user_id text not null,
  occurred_at timestamp with time zone not null,
  day date not null,
  description text not null,
  amount numeric(18,2) not null,
  currency text collate "C" not null,
  type text collate "C" not null,
  status text collate "C" not null,
  category text,
  category_id text collate "C",
  sync_id uuid not null,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  removed_at timestamp with time zone,
  constraint bank_transaction_status CHECK ((status = ANY (ARRAY['POSTED'::text, 'PENDING'::text]))),
  constraint bank_transaction_type CHECK ((type = ANY (ARRAY['CREDIT'::text, 'DEBIT'::text]))),
  constraint bank_transaction_item_id_account_id_fkey FOREIGN KEY (item_id, account_id) REFERENCES documents.bank_account(item_id, id),
  constraint bank_transaction_pkey PRIMARY KEY (item_id, account_id, id)
);

CREATE INDEX bank_transaction_account ON documents.bank_transaction USING btree (item_id, account_id, day);

CREATE INDEX bank_transaction_day ON documents.bank_transaction USING btree (day, id);

CREATE INDEX bank_transaction_user ON documents.bank_transaction USING btree (user_id, day, id);

create table documents.bank_user (
  user_id text not null,
  group_key uuid not null,
  constraint bank_user_pkey PRIMARY KEY (user_id),
  constraint bank_user_group_key_key UNIQUE (group_key)
);

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

create table documents.pluggy_key (
  client text collate "C" not null,
  generation integer not null,
  sealed bytea,
  expires_at timestamp with time zone,
  renewing_until timestamp with time zone,
  constraint pluggy_key_pkey PRIMARY KEY (client)
);
