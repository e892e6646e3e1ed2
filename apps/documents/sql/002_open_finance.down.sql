drop table documents.pluggy_key, documents.bank_sync, documents.bank_transaction, documents.bank_account, documents.bank_item,
  documents.bank_user;
