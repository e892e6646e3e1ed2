-- The tables of Open Finance (apps/documents/open-finance): users, items, accounts, transactions and syncs, and the shared API key of
-- Pluggy. Rows belong to the user in user_id; no other user sees the rows.

-- A user with bank data. The engine knows the user by group_key only: no job, limit or event names the user.
create table documents.bank_user (
  user_id text primary key,
  group_key uuid not null unique          -- random; the syncs of a user run one after the other
);

-- A connection of a user with a bank. The first user whose sync finds the item has the item.
create table documents.bank_item (
  id text collate "C" primary key,        -- id at Pluggy
  user_id text not null,
  institution text,                       -- name of the bank; null: Pluggy gives none
  status text collate "C" not null,       -- Pluggy's word at the last sync, such as UPDATED or LOGIN_ERROR
  status_detail text collate "C",         -- Pluggy's second word, such as INVALID_CREDENTIALS
  checked_at timestamptz not null,        -- time of that status
  synced_at timestamptz,                  -- end of the last whole sync; null: none yet
  simulated boolean not null,             -- Pluggy without keys answered from this machine
  created_at timestamptz not null
);

create index bank_item_user on documents.bank_item (user_id, id);

-- An account of an item. An account has one sync at a time: sync_id, and position in the list of transactions.
create table documents.bank_account (
  item_id text collate "C" not null references documents.bank_item (id),
  id text collate "C" not null,           -- id at Pluggy
  user_id text not null,
  name text not null,
  type text collate "C" not null,         -- BANK or CREDIT
  subtype text collate "C",               -- CHECKING_ACCOUNT, SAVINGS_ACCOUNT, CREDIT_CARD
  last_digits text collate "C",           -- last four digits of the number; the whole number is not kept
  currency text collate "C" not null,
  balance numeric(18, 2) not null,        -- as the bank gives the balance
  balance_at timestamptz not null,        -- time of the answer with the balance
  simulated boolean not null,
  created_at timestamptz not null,
  removed_at timestamptz,                 -- the bank does not list the account any more
  window_from date not null,              -- first day of the window of sync_id
  sync_id uuid not null,                  -- last sync that began with this account
  position jsonb,                         -- place of sync_id in the list of transactions; null: before the first page, or after the last
  is_read boolean not null,               -- sync_id has read the last page
  synced_to timestamptz,                  -- newest transaction of the last whole sync: the next window begins some days before
  primary key (item_id, id)
);

create index bank_account_user on documents.bank_account (user_id, item_id, id);

-- A transaction. A transaction that the bank does not list any more stays, with the time in removed_at.
create table documents.bank_transaction (
  item_id text collate "C" not null,
  account_id text collate "C" not null,
  id text collate "C" not null,           -- id at Pluggy
  user_id text not null,
  occurred_at timestamptz not null,       -- as the bank gives the instant
  day date not null,                      -- day in Brazil
  description text not null,
  amount numeric(18, 2) not null,         -- as Pluggy gives the amount
  currency text collate "C" not null,
  type text collate "C" not null,         -- CREDIT: money comes in; DEBIT: money goes out
  status text collate "C" not null,       -- POSTED or PENDING
  category text,
  category_id text collate "C",
  sync_id uuid not null,                  -- last sync that saw the transaction
  created_at timestamptz not null,
  updated_at timestamptz not null,        -- last change of a value
  removed_at timestamptz,                 -- time at which a sync did not find the transaction any more
  primary key (item_id, account_id, id),
  foreign key (item_id, account_id) references documents.bank_account (item_id, id),
  constraint bank_transaction_type check (type in ('CREDIT', 'DEBIT')),
  constraint bank_transaction_status check (status in ('POSTED', 'PENDING'))
);

-- Lists and totals of a user, the newest first.
create index bank_transaction_user on documents.bank_transaction (user_id, day, id);
-- The same for an admin.
create index bank_transaction_day on documents.bank_transaction (day, id);
-- Lists of an account; transactions of a window that a sync has not seen.
create index bank_transaction_account on documents.bank_transaction (item_id, account_id, day);

-- A sync. The status is the state of its job.
create table documents.bank_sync (
  id uuid primary key,                    -- sorted by time; random, so that the ids of one user say nothing about other users
  user_id text not null,
  item_id text collate "C",               -- null: all items of the user
  job_id bigint not null unique,
  simulated boolean not null,
  accounts integer not null default 0,    -- accounts read to the end
  added integer not null default 0,       -- new transactions
  changed integer not null default 0,     -- transactions with a changed value
  removed integer not null default 0,     -- transactions that the bank does not list any more
  created_at timestamptz not null
);

create index bank_sync_user on documents.bank_sync (user_id, id);

-- The API key of Pluggy, shared by all workers until the key expires.
create table documents.pluggy_key (
  client text collate "C" primary key,    -- hash of the address and the client id
  generation integer not null,            -- grows with each key
  sealed bytea,                           -- the key, encrypted with the client secret, which is not in the database
  expires_at timestamptz,
  renewing_until timestamptz              -- a process asks for a new key until then; null: none does
);
