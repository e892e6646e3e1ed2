/**
 * Reads the webhook of an execution, and the executions whose state the webhook has not received.
 *
 * Invariant: `webhook_told` has the last told state. The state is forgotten when the execution continues, so that the next stall or pause is
 * told, too.
 */
import type { Engine, JobTransaction } from 'retoma'

type Home = Engine

/** States besides CONCLUIDO that a webhook receives. PAUSADO: by the engine, not by a person. */
export type Told = 'ERRO' | 'CANCELADO' | 'TRAVADO' | 'PAUSADO'

// The batch may end before the execution has the id of the batch: the key of the batch has the execution (runs.ts).
const webhook = `
  select r.id::text as run, r.webhook_url as url, r.webhook_secret as secret, r.batch_id is not null as "hasBatch"
  from classifier.run r
  where (r.batch_id = $1 or r.batch_id is null
      and r.id = (select substring(b.key from '^execution-(\\d{1,18})$')::bigint from retoma.batch b where b.id = $1))
    and r.deleted_at is null and r.webhook_url is not null`

/** `hasBatch`: false until the execution has the id of the batch; the counts of the execution are not known before. */
interface RunWebhook {
  run: string
  url: string
  secret: string | undefined
  hasBatch: boolean
}

/** The webhook of the execution with this batch; undefined: there is none. */
export async function readWebhook(home: Pick<Home, 'query'>, batch: string): Promise<RunWebhook | undefined> {
  type Row = Omit<RunWebhook, 'secret'> & { secret: string | null }
  const [row] = (await home.query<Row>(webhook, [batch])).rows
  return row && { ...row, secret: row.secret ?? undefined }
}

const forget = `
  update classifier.run r
  set webhook_told = null
  where r.webhook_told is not null
    and (select e.status from classifier.execucoes_classificacao e where e.id = any (array[r.id])) in ('PENDENTE', 'EM_ANDAMENTO', 'CONCLUIDO')`

/** Forgets the told states of executions that have continued. */
export async function forgetTold(home: Pick<Home, 'query'>): Promise<void> {
  await home.query(forget)
}

// The key tells two ends, two stalls, or two pauses apart: between two pauses the batch is resumed.
const untold = `
  select e.id::text as run, e.lote_id::text as batch, e.status, k.key
  from classifier.run r
    join classifier.execucoes_classificacao e on e.id = any (array[r.id])
    join retoma.batch b on b.id = any (array[r.batch_id])
    cross join lateral (
      select concat_ws(' ', e.status, coalesce(b.finished_at::text, b.resumes::text),
        case when b.finished_at is null then nullif(b.resumed_at, '-infinity') end) as key
    ) k
  where r.webhook_url is not null and r.deleted_at is null and e.lote_id is not null
    and (e.status in ('ERRO', 'CANCELADO', 'TRAVADO')
      or e.status = 'PAUSADO' and e.motivo is not null and e.motivo ->> 'code' <> 'person')
    and r.webhook_told is distinct from k.key
  order by r.id
  limit 500`

/** Up to 500 executions. `key`: the state, for `noteTold`. */
export async function readUntold(
  home: Pick<Home, 'query'>,
): Promise<{ run: string; batch: string; status: Told; key: string }[]> {
  return (await home.query<{ run: string; batch: string; status: Told; key: string }>(untold)).rows
}

const note = `
  update classifier.run set webhook_told = $2 where id = $1 and webhook_told is distinct from $2 and deleted_at is null`

/** False: another process has told this state. */
export async function noteTold(tx: JobTransaction, run: string, key: string): Promise<boolean> {
  return (await tx.query(note, [run, key])).rowCount === 1
}
