/** Reads executions from the view classifier.execucoes_classificacao, which already has the seed's words. */
import type { Engine } from 'retoma'
import type { Status } from '../status.ts'

type Home = Pick<Engine, 'query'>

/** Money is a text. */
export interface Execution {
  id: string
  projeto_id: string
  projeto: string
  status: Status
  total: number
  pendentes: number
  processando: number
  concluidos: number
  erros: number
  pulados: number
  cancelados: number
  percentual: number
  ultimo_heartbeat: Date | null
  ultimo_codigo_processado: string | null
  tentativas_retry: number
  max_retries: number
  motivo: ({ code: string } & Record<string, unknown>) | null
  custo_usd: string
  custo_permitido_usd: string | null
  reaproveitar: boolean
  /** The model for unfinished documents. */
  modelo: string | null
  /** 0 (first) to 9, and the documents in one turn. */
  prioridade: number
  peso: number
  lote_id: string | null
  /** The execution whose documents run again; null: the documents were sent. */
  origem_id: string | null
  criado_por: string
  criado_em: Date
  concluido_em: Date | null
  /** True if any answer was simulated; null: there is no answer yet. */
  simulado: boolean | null
  /** Processor time of OCR, of all documents. */
  ocr_segundos: number
  /** The choice of pages; null: all pages. */
  paginas: string | null
  segundos_sem_progresso: number
}

const now = (place: number) => `coalesce($${place}::timestamptz, now())`

// For a finished execution the time until the end; before the first finished document the time since the creation.
const columns = (at: string) => `
  e.id::text as id, e.projeto_id::text as projeto_id, e.projeto, e.status, e.total, e.pendentes, e.processando, e.concluidos,
  e.erros, e.pulados, e.cancelados, e.percentual::float8 as percentual, e.ultimo_heartbeat, e.ultimo_codigo_processado,
  e.tentativas_retry, e.max_retries, e.motivo, e.custo_usd::text as custo_usd,
  e.custo_permitido_usd::text as custo_permitido_usd, e.reaproveitar, e.lote_id::text as lote_id, e.criado_por, e.criado_em,
  e.concluido_em, e.modelo, e.prioridade, e.peso, e.origem_id::text as origem_id,
  e.simulado, e.ocr_segundos::float8 as ocr_segundos, e.paginas,
  greatest(0, floor(extract(epoch from
    coalesce(e.concluido_em, ${at}) - coalesce(e.ultimo_heartbeat, e.criado_em))))::int as segundos_sem_progresso`

const one = `select ${columns(now(2))} from classifier.execucoes_classificacao e where e.id = $1`

export async function readExecution(home: Home, id: string, at: Date | null): Promise<Execution | undefined> {
  return (await home.query<Execution>(one, [id, at])).rows[0]
}

const model = `select settings ->> 'model' as model from classifier.run where id = $1`

/** The model of the documents; null: the execution names no model. */
export async function readModel(home: Home, id: string): Promise<string | null> {
  return (await home.query<{ model: string | null }>(model, [id])).rows[0]?.model ?? null
}

const list = `
  select ${columns(now(2))}
  from classifier.execucoes_classificacao e
  where e.id < $1 and ($3::bigint is null or e.projeto_id = $3) and ($4::text is null or e.status = $4)
  order by e.id desc
  limit $5`

/** The newest first. */
export async function listExecutions(
  home: Home,
  filter: { after: string; project: string | null; status: Status | null; limit: number },
  at: Date | null,
): Promise<Execution[]> {
  return (await home.query<Execution>(list, [filter.after, at, filter.project, filter.status, filter.limit])).rows
}
