drop view retoma.resultados_classificacao;
drop view retoma.execucoes_classificacao;
drop table retoma.classifier_purchase;
drop table retoma.classifier_document;
drop table retoma.classifier_run;
drop table retoma.classifier_project;
