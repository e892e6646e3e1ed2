drop view retoma.resultados_classificacao;
alter table retoma.classifier_document drop column useless_answer;

-- For diagnosis, in the words of the seed. An execution is here as long as its batch is.
create or replace view retoma.execucoes_classificacao as
select
  r.id,
  r.project_id as projeto_id,
  r.settings ->> 'name' as projeto,
  case
    when b.id is null then 'PENDENTE'
    when b.state = 'paused' then 'PAUSADO'
    when b.state = 'stalled' then 'TRAVADO'
    when b.state = 'succeeded' then 'CONCLUIDO'
    when b.state = 'failed' then 'ERRO'
    when b.state = 'cancelled' then 'CANCELADO'
    when r.started or c.begun > 0 then 'EM_ANDAMENTO'
    else 'PENDENTE'
  end as status,
  r.total,
  r.total - c.ended - c.running - c.stalled - m.missing as pendentes,
  c.running + c.stalled as processando,
  c.succeeded as concluidos,
  c.failed + case when b.state = 'failed' then m.missing else 0 end as erros,
  c.skipped + c.cancelled + case when b.state = 'cancelled' then m.missing else 0 end as pulados,
  c.cancelled + case when b.state = 'cancelled' then m.missing else 0 end as cancelados, -- of those
  trunc((c.ended + m.missing) * 100.0 / r.total, 1) as percentual,
  c.progress_at as ultimo_heartbeat,
  c.last_ref as ultimo_codigo_processado,
  coalesce(b.resumes, 0) as tentativas_retry,
  (r.settings ->> 'max_resumes')::integer as max_retries,
  b.reason as motivo,
  r.cost_usd as custo_usd,
  r.cost_allowed_usd as custo_permitido_usd,
  r.reuse as reaproveitar,
  r.batch_id as lote_id,
  r.created_by as criado_por,
  r.created_at as criado_em,
  b.finished_at as concluido_em
from retoma.classifier_run r
  left join retoma.batch b on b.id = any (array[r.batch_id])
  cross join lateral (
    select coalesce(sum(n.succeeded), 0)::integer as succeeded, coalesce(sum(n.failed), 0)::integer as failed,
      coalesce(sum(n.skipped), 0)::integer as skipped, coalesce(sum(n.cancelled), 0)::integer as cancelled,
      coalesce(sum(n.stalled), 0)::integer as stalled, coalesce(sum(n.begun::bigint - n.freed), 0)::integer as running,
      coalesce(sum(n.begun), 0) as begun,
      coalesce(sum(n.succeeded + n.failed + n.skipped + n.cancelled), 0)::integer as ended,
      max(n.progress_at) as progress_at,
      (array_agg(n.last_ref order by n.progress_at desc) filter (where n.progress_at is not null))[1] as last_ref
    from retoma.batch_count n
    where n.batch_id = r.batch_id
  ) c
  -- Of one that ended while it was being submitted: what never became a job.
  cross join lateral (
    select case when b.state in ('failed', 'cancelled') then greatest(r.total - b.total, 0) else 0 end as missing
  ) m
where r.deleted_at is null and (r.batch_id is null or b.todo is distinct from 'prune' and b.id is not null);

-- The message, the stack and the time are of the last error, of one that was skipped its reason.
create view retoma.resultados_classificacao as
select
  d.id,
  d.run_id as execucao_id,
  d.n,
  d.code as codigo,
  s.status,
  coalesce(j.attempt - j.unspent, 0) as tentativas,
  case
    when s.status = 'CONCLUIDO' then null
    when s.state = 'cancelled' then 'execução cancelada; documento não processado'
    when s.status = 'ERRO' and (j.id is null or j.error ->> 'code' = 'resumes_spent') then
      'execução encerrada após ' || case r.settings ->> 'max_resumes' when '1' then '1 retomada' else (r.settings ->> 'max_resumes') || ' retomadas' end
        || '; documento não processado'
    else e.message
  end as erro_mensagem,
  case when s.status <> 'CONCLUIDO' then j.error ->> 'stack' end as erro_stack,
  case s.status
    when 'CONCLUIDO' then null
    when 'PULADO' then null
    when 'ERRO' then coalesce(j.finished_at, b.finished_at)
    else f.at
  end as ultimo_erro_em,
  d.category as categoria,
  d.confidence as confianca,
  d.justification as justificativa,
  d.model as modelo,
  d.tokens_in as tokens_entrada,
  d.tokens_out as tokens_saida,
  d.cost_usd as custo_usd,
  d.simulated as simulado,
  d.reused_from is not null as reaproveitado,
  d.duplicate_of as duplicado_de,
  d.file_id as arquivo_id,
  d.job_id
from retoma.classifier_document d
  join retoma.classifier_run r on r.id = any (array[d.run_id]) and r.deleted_at is null
  left join retoma.batch b on b.id = any (array[r.batch_id])
  left join retoma.job j on j.id = any (array[d.job_id])
  left join lateral (
    select l.at from retoma.failure l where l.job_id = j.id order by l.attempt desc limit 1
  ) f on j.error is not null
  -- What the engine says of an attempt, in the words of its readers; what the application says is in theirs already.
  left join lateral (
    select case
      when j.error ->> 'code' = 'poison' then 'o documento derrubou o processo vezes demais e não é mais tentado'
      when j.error ->> 'code' = 'too_many_restarts' then 'o worker morreu vezes demais enquanto tratava este documento'
      when j.error ->> 'what' = 'timeout' then 'a tentativa passou do tempo que um documento tem'
      when j.error ->> 'what' = 'crash' then 'o processo morreu enquanto tratava este documento: ' || (j.error ->> 'message')
      when j.error ->> 'what' = 'orphan' then 'o worker morreu enquanto tratava este documento'
      when j.error ->> 'what' = 'hung' then 'o worker parou de responder enquanto tratava este documento'
      when j.error ->> 'what' = 'stalled' then 'estava sendo tratado quando a execução travou'
      else j.error ->> 'message'
    end as message
  ) e on true
  cross join lateral (
    select n.state, case n.state
      when 'waiting' then 'PENDENTE'
      when 'succeeded' then 'CONCLUIDO'
      when 'failed' then 'ERRO'
      when 'skipped' then 'PULADO'
      when 'cancelled' then 'PULADO'
      else 'PROCESSANDO'
    end as status
    from (select coalesce(j.state, case when b.state in ('failed', 'cancelled') then b.state else 'waiting' end)) n (state)
  ) s
where r.batch_id is null or b.todo is distinct from 'prune' and b.id is not null;
