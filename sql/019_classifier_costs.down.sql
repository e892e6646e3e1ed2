drop view retoma.execucoes_classificacao;
drop function retoma.classifier_reserved_usd(jsonb, numeric);
drop function retoma.classifier_reserved(jsonb);
alter table retoma.classifier_document drop column settings_hash;
alter table retoma.classifier_run drop column reserved, drop column cost_expected_usd, drop column cost_needed_usd;

-- For diagnosis, in the words of the seed. An execution is here as long as its batch is.
create view retoma.execucoes_classificacao as
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
  case when b.state in ('failed', 'cancelled') then 0 else r.total - c.ended - c.running - c.stalled end as pendentes,
  case b.state when 'failed' then 0 when 'cancelled' then c.running else c.running + c.stalled end as processando,
  c.succeeded as concluidos,
  c.failed + case when b.state = 'failed' then m.decided else 0 end as erros,
  c.skipped + c.cancelled + case when b.state = 'cancelled' then m.decided else 0 end as pulados,
  c.cancelled + case when b.state = 'cancelled' then m.decided else 0 end as cancelados, -- of those
  trunc((c.ended + m.decided) * 100.0 / r.total, 1) as percentual,
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
  -- Documents that end as their execution has ended, although their jobs have not ended one by one yet, or were never made.
  cross join lateral (
    select case b.state when 'failed' then r.total - c.ended when 'cancelled' then r.total - c.ended - c.running else 0 end as decided
  ) m
where r.deleted_at is null and (r.batch_id is null or b.todo is distinct from 'prune' and b.id is not null);
