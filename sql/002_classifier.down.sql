drop view retoma.resultados_classificacao;
drop view retoma.execucoes_classificacao;
drop function retoma.classifier_reserved_usd(jsonb, numeric);
drop function retoma.classifier_reserved(jsonb);
drop table retoma.classifier_purchase, retoma.classifier_document, retoma.classifier_run, retoma.classifier_project;
