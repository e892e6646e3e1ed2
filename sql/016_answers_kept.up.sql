-- What is made under an Idempotency-Key commits together with its answer: its row need not be found again by a key of its own.
alter table retoma.classifier_project drop column key;
alter table retoma.classifier_run drop column key;
