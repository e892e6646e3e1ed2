-- What is asked of a paid AI under a limit of cost reserves its expected price first. And an execution may go on with another model.

alter table retoma.classifier_run
  add column reserved jsonb not null default '{}', -- by document: { job, attempt, usd }, of an attempt that asks; usd null: nobody knows the price yet
  add column cost_expected_usd numeric(14, 6),     -- the dearest answer so far by the model that is asked now; null: none yet
  add column cost_needed_usd numeric(14, 6);       -- what it would have come to when its limit paused it

-- By what an answer was asked: the model of an execution may change between two of its documents.
alter table retoma.classifier_document add column settings_hash bytea;
update retoma.classifier_document d
set settings_hash = r.settings_hash
from retoma.classifier_run r
where r.id = d.run_id and d.answered_at is not null;

-- Of what is reserved that of attempts that still run: whoever dies, or ends without having bought anything, gives it back. An attempt
-- that this statement cannot see yet counts.
create function retoma.classifier_reserved(reserved jsonb) returns jsonb
language sql stable
as $$
  select coalesce(jsonb_object_agg(e.key, e.value), '{}'::jsonb)
  from jsonb_each(reserved) e
    join retoma.job j on j.id = any (array[(e.value ->> 'job')::bigint])
  where j.attempt < (e.value ->> 'attempt')::integer or j.attempt = (e.value ->> 'attempt')::integer and j.state = 'running'
$$;

-- What that comes to; `expected`: of those whose price nobody knew.
create function retoma.classifier_reserved_usd(reserved jsonb, expected numeric) returns numeric
language sql stable
as $$
  select coalesce(sum(coalesce((e.value ->> 'usd')::numeric, expected)), 0)
  from jsonb_each(retoma.classifier_reserved(reserved)) e
$$;

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
  b.finished_at as concluido_em,
  r.settings ->> 'model' as modelo
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
