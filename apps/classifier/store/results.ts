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
  /** The answer of the AI; `categoria` is the category by a person, if there is one. */
  categoria_ia: string | null
  /** All categories; several only if the execution allows several. */
  categorias: (string | null)[]
  categorias_ia: (string | null)[]
  revisar: boolean
  revisao: 'ACEITO' | 'CORRIGIDO' | null
  revisado_por: string | null
  revisado_em: Date | null
  ocr: boolean
  ocr_paginas: number | null
  ocr_confianca: number | null
  ocr_segundos: number | null
}

// Cut here, so a page of 500 rows has some megabytes at most.
const columns = `
  n, codigo, status, tentativas, left(erro_mensagem, 2000) as erro_mensagem, left(erro_stack, 4000) as erro_stack, ultimo_erro_em, categoria, confianca::float8 as confianca,
  justificativa, modelo, tokens_entrada, tokens_saida, custo_usd::text as custo_usd, simulado, reaproveitado, duplicado_de, resposta_ia,
  categoria_ia, categorias, categorias_ia, revisar, revisao, revisado_por, revisado_em,
  ocr, ocr_paginas, ocr_confianca::float8 as ocr_confianca, ocr_segundos::float8 as ocr_segundos`

/** All conditions hold together; an absent condition does not count. */
export interface ResultFilter {
  status?: DocumentStatus | undefined
  categoria?: string | undefined
  revisar?: boolean | undefined
  revisao?: Result['revisao'] | undefined
  confianca_abaixo_de?: number | undefined
  /** Part of the text or of the code, without case and accents. */
  busca?: string | undefined
}

const list = `
  select ${columns} from classifier.resultados_classificacao v
  where execucao_id = $1 and n > $2::bigint and ($3::text is null or status = $3)
    and ($5::text is null or exists (select from unnest(categorias) c where classifier.folded(c) = classifier.folded($5)))
    and ($6::boolean is null or revisar = $6) and ($7::text is null or revisao = $7)
    and ($8::numeric is null or status = 'CONCLUIDO' and coalesce(confianca, 0) < $8)
    and ($9::text is null or position(classifier.folded($9) in classifier.folded(codigo)) > 0 or exists (
      select from classifier.document d
      where d.id = v.id and position(classifier.folded($9) in classifier.folded(coalesce(d.text, d.content))) > 0
    ))
  order by n
  limit $4`

/** In the order of sending. `after`: a position, also without a document. */
export async function listResults(
  home: Home,
  run: string,
  { after, limit, ...filter }: { after: string; limit: number } & ResultFilter,
): Promise<Result[]> {
  const {
    status = null,
    categoria = null,
    revisar = null,
    revisao = null,
    confianca_abaixo_de: below = null,
    busca = null,
  } = filter
  const values = [run, after, status, limit, categoria, revisar, revisao, below, busca]
  return (await home.query<Result>(list, values)).rows
}

const oneOf = `select ${columns} from classifier.resultados_classificacao where execucao_id = $1 and codigo = $2`

/** undefined: there is no such document. */
export async function readResult(home: Home, run: string, code: string): Promise<Result | undefined> {
  return (await home.query<Result>(oneOf, [run, code])).rows[0]
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
  select d.file_id::text as file, d.text, d.hash, d.content
  from classifier.document d join classifier.execucoes_classificacao e on e.id = any (array[d.run_id])
  where d.run_id = $1 and d.code = $2`

export interface Source {
  file: string | null
  text: string | null
  hash: Uint8Array
  /** The text of a file as the AI received the text; null: no answer yet. */
  content: string | null
}

/** The document as sent; undefined: there is no such document. */
export async function readSource(home: Home, run: string, code: string): Promise<Source | undefined> {
  return (await home.query<Source>(source, [run, code])).rows[0]
}

/** Money is a text. */
export interface CategoryCount {
  categoria: string | null
  documentos: number
  revisar: number
  aceitos: number
  corrigidos: number
  confianca_media: number | null
  custo_usd: string
}

const perCategory = `
  select c.categoria, count(*)::int as documentos, count(*) filter (where revisar)::int as revisar,
    count(*) filter (where revisao = 'ACEITO')::int as aceitos, count(*) filter (where revisao = 'CORRIGIDO')::int as corrigidos,
    round(avg(confianca), 4)::float8 as confianca_media, coalesce(sum(custo_usd), 0)::text as custo_usd
  from classifier.resultados_classificacao v cross join lateral unnest(v.categorias) as c (categoria)
  where v.execucao_id = $1
  group by c.categoria`

/** Documents without a category are one row, with null. A document with several categories counts for each. */
export async function countByCategory(home: Home, run: string): Promise<CategoryCount[]> {
  return (await home.query<CategoryCount>(perCategory, [run])).rows
}
