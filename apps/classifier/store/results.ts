/** Reads documents and results from the view classifier.resultados_classificacao. */
import type { Engine } from 'retoma'
import type { DocumentStatus } from '../status.ts'

type Home = Pick<Engine, 'query'>

/** Money is a text. */
export interface Result {
  n: number
  codigo: string
  status: DocumentStatus
  tentativas: number
  erro_mensagem: string | null
  erro_stack: string | null
  ultimo_erro_em: Date | null
  categoria: string | null
  confianca: number | null
  justificativa: string | null
  modelo: string | null
  tokens_entrada: number | null
  tokens_saida: number | null
  custo_usd: string | null
  simulado: boolean | null
  reaproveitado: boolean
  duplicado_de: string | null
  resposta_ia: string | null
}

// Cut here, so a page of 500 rows has some megabytes at most.
const columns = `
  n, codigo, status, tentativas, left(erro_mensagem, 2000) as erro_mensagem, left(erro_stack, 4000) as erro_stack, ultimo_erro_em, categoria, confianca::float8 as confianca,
  justificativa, modelo, tokens_entrada, tokens_saida, custo_usd::text as custo_usd, simulado, reaproveitado, duplicado_de, resposta_ia`

const list = `
  select ${columns} from classifier.resultados_classificacao
  where execucao_id = $1 and n > $2::bigint and ($3::text is null or status = $3)
  order by n
  limit $4`

/** In the order of sending. `after`: a position, also without a document. */
export async function listResults(
  home: Home,
  run: string,
  { after, status, limit }: { after: string; status: DocumentStatus | null; limit: number },
): Promise<Result[]> {
  return (await home.query<Result>(list, [run, after, status, limit])).rows
}

const recent = `
  select codigo, erro_mensagem, ultimo_erro_em from classifier.resultados_classificacao
  where execucao_id = $1 and ultimo_erro_em is not null
  order by ultimo_erro_em desc, n desc
  limit $2`

export type RecentError = Pick<Result, 'codigo' | 'erro_mensagem' | 'ultimo_erro_em'>

/** The latest first; includes errors of documents with further attempts. */
export async function recentErrors(home: Home, run: string, limit: number): Promise<RecentError[]> {
  return (await home.query<RecentError>(recent, [run, limit])).rows
}

const source = `
  select d.file_id::text as file, d.text
  from classifier.document d join classifier.execucoes_classificacao e on e.id = any (array[d.run_id])
  where d.run_id = $1 and d.code = $2`

/** The document as sent; undefined: there is no such document. */
export async function readSource(
  home: Home,
  run: string,
  code: string,
): Promise<{ file: string | null; text: string | null } | undefined> {
  return (await home.query<{ file: string | null; text: string | null }>(source, [run, code])).rows[0]
}
