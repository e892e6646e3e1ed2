alter table retoma.classifier_run add column key text collate "C" unique;
alter table retoma.classifier_project add column key text collate "C" unique;
