drop view classifier.resultados_classificacao;
drop view classifier.execucoes_classificacao;
drop function classifier.folded(text);
drop function classifier.accepted(classifier.document);
drop function classifier.reserved_usd(jsonb, numeric);
drop function classifier.reserved(jsonb);
drop table classifier.question, classifier.purchase, classifier.document, classifier.run, classifier.project;
