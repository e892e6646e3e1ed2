/** Turns executions and documents into JSON for HTTP: the names are the seed's, money is a text with the currency beside it. */
import { z } from 'zod'
import { cents, currency, dollars, exactly } from './money.ts'
import { documentStatuses, type Status, statuses } from './status.ts'
import type { Execution } from './store/executions.ts'
import type { CategoryCount, Result } from './store/results.ts'

export const count = z.number().int()
export const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })

const counts = {
  total: count,
  pendentes: count,
  processando: count,
  concluidos: count,
  erros: count,
  pulados: count,
  cancelados: count.meta({ description: 'of those that were skipped, how many because the execution was cancelled' }),
  percentual: z.number().meta({ description: 'of a hundred, how many have ended' }),
}

export const usd = z.string().meta({ description: 'dollars, with two decimals, half a cent rounded up' })
export const exactUsd = z
  .string()
  .meta({ description: 'the same with six decimals, for a document costs fractions of a cent' })
export const limitUsd = z.string().nullable().meta({ description: 'dollars, with two to six decimals; null: no limit' })
export const moeda = z.string().meta({ description: 'ISO 4217' })
export const simulado = z.boolean().meta({ description: 'answered without the AI, because it has no key' })

export const paginasShown = z
  .string()
  .nullable()
  .meta({ description: 'the pages of a PDF or TIFF that count; null: all' })

const ocrSeconds = z.number().meta({ description: 'processor time of OCR, in seconds' })

export const modelNow = z
  .string()
  .nullable()
  .meta({ description: 'the model that documents which are not done are asked of; null: the one of OPENROUTER_MODEL' })

export const prioridade = z
  .int()
  .min(0)
  .max(9)
  .meta({ description: '0 (first) to 9: executions of a priority take turns' })
const turns = { prioridade, peso: count.meta({ description: 'documents in one of its turns' }) }

export const status = z.enum(statuses)
const shown = z.string().meta({ description: 'the status for people, such as "Concluído com erros"' })

export const execution = z
  .object({
    id: z.string(),
    projeto_id: z.string(),
    projeto: z.string(),
    status,
    status_exibicao: shown,
    ...counts,
    tentativas_retry: count,
    max_retries: count,
    reaproveitar: z.boolean(),
    ...turns,
    origem_id: z
      .string()
      .nullable()
      .meta({ description: 'the execution whose documents run again; null: they were sent' }),
    modelo: modelNow,
    custo_usd: usd,
    custo_usd_exato: exactUsd,
    moeda,
    simulado,
    ocr_segundos: ocrSeconds,
    paginas: paginasShown,
    criado_por: z.string(),
    criado_em: instant,
    concluido_em: instant.nullable(),
  })
  .meta({ id: 'Execucao' })

export const detailed = z
  .object({
    id: z.string(),
    status,
    status_exibicao: shown,
    ...counts,
    ultimo_heartbeat: instant.nullable().meta({ description: 'when the last attempt of a document ended' }),
    segundos_sem_progresso: count,
    ultimo_codigo_processado: z.string().nullable(),
    tentativas_retry: count,
    max_retries: count,
    pode_retomar: z.boolean(),
    rota_origem: z.string(),
    diagnostico: z.string().meta({ description: 'one sentence: whether to wait, or which action to run' }),
    travado_motivo: z.string().nullable(),
    ...turns,
    modelo: modelNow,
    custo_usd: usd,
    custo_usd_exato: exactUsd,
    limite_custo_usd: limitUsd,
    moeda,
    simulado,
    ocr_segundos: ocrSeconds,
    erros_recentes: z.array(
      z.object({ codigo: z.string(), erro_mensagem: z.string().nullable(), ultimo_erro_em: instant.nullable() }),
    ),
  })
  .meta({ id: 'StatusDetalhado' })

export const documentStatus = z.enum(documentStatuses)

export const reviewKind = z.enum(['ACEITO', 'CORRIGIDO'])

const review = {
  categorias: z.array(z.string()).meta({ description: 'all of them; more than one only with varias_categorias' }),
  categorias_ia: z.array(z.string()),
  categoria_ia: z
    .string()
    .nullable()
    .meta({ description: 'what the AI answered; categoria is what a person said, if one did' }),
  revisar: z
    .boolean()
    .meta({ description: 'answered with less confidence than revisar_abaixo_de, and not reviewed yet' }),
  revisao: reviewKind.nullable().meta({ description: 'what a person made of the answer; null: nobody has looked' }),
  revisado_por: z.string().nullable(),
  revisado_em: instant.nullable(),
}

const listed = (categories: readonly (string | null)[]): string[] => categories.filter(each => each !== null)

const reviewOf = ({ categoria_ia, revisar, revisao, revisado_por, revisado_em, ...from }: Result) => ({
  categorias: listed(from.categorias),
  categorias_ia: listed(from.categorias_ia),
  categoria_ia,
  revisar,
  revisao,
  revisado_por,
  revisado_em,
})

const ocr = {
  ocr: z.boolean().meta({ description: 'scanned pages or an image were read by OCR' }),
  ocr_paginas: count.nullable(),
  ocr_confianca: z.number().nullable().meta({ description: '0 to 1; null: no OCR, or no text found' }),
  ocr_segundos: ocrSeconds.nullable(),
}

export const document = z
  .object({
    codigo: z.string(),
    status: documentStatus,
    tentativas: count,
    erro_mensagem: z.string().nullable(),
    ultimo_erro_em: instant.nullable(),
    categoria: z.string().nullable(),
    confianca: z.number().nullable(),
    simulado,
    duplicado_de: z.string().nullable().meta({ description: 'an earlier one of this execution with the same bytes' }),
    reaproveitado: z.boolean().meta({ description: 'it has the answer to an earlier document with the same bytes' }),
    ...review,
    ...ocr,
  })
  .meta({ id: 'Documento' })

export const documentError = z
  .object({
    codigo: z.string(),
    status: documentStatus,
    tentativas: count,
    erro_mensagem: z.string().nullable(),
    erro_stack: z.string().nullable().meta({ description: 'null for viewers' }),
    ultimo_erro_em: instant.nullable(),
    resposta_ia: z
      .string()
      .nullable()
      .meta({ description: 'what the AI wrote that was of no use, at most 4,000 characters; null for viewers' }),
  })
  .meta({ id: 'ErroDeDocumento' })

export const result = z
  .object({
    codigo: z.string(),
    categoria: z.string().nullable(),
    confianca: z.number().nullable(),
    justificativa: z.string().nullable(),
    status: documentStatus,
    modelo: z.string().nullable(),
    tokens_entrada: count.nullable(),
    tokens_saida: count.nullable(),
    custo_usd: usd.nullable(),
    custo_usd_exato: exactUsd.nullable(),
    moeda,
    simulado,
    erro_mensagem: z.string().nullable().meta({ description: 'why the document is ERRO or PULADO' }),
    ...review,
    ...ocr,
  })
  .meta({ id: 'Resultado' })

const labels: Readonly<Record<Status, string>> = {
  PENDENTE: 'Pendente',
  EM_ANDAMENTO: 'Em andamento',
  PAUSADO: 'Pausado',
  TRAVADO: 'Travado',
  CONCLUIDO: 'Concluído',
  ERRO: 'Erro',
  CANCELADO: 'Cancelado',
}

const labelOf = ({ status, erros }: Pick<Execution, 'status' | 'erros'>): string =>
  status === 'CONCLUIDO' && erros > 0 ? 'Concluído com erros' : labels[status]

const countsOf = (from: Execution) => ({
  total: from.total,
  pendentes: from.pendentes,
  processando: from.processando,
  concluidos: from.concluidos,
  erros: from.erros,
  pulados: from.pulados,
  cancelados: from.cancelados,
  percentual: from.percentual,
})

const costOf = <T extends string | null>({ custo_usd: cost }: { custo_usd: T }) => ({
  custo_usd: cents(cost),
  custo_usd_exato: exactly(cost),
  moeda: currency,
})

export const executionWire = (from: Execution, isSimulated: boolean) => ({
  id: from.id,
  projeto_id: from.projeto_id,
  projeto: from.projeto,
  status: from.status,
  status_exibicao: labelOf(from),
  ...countsOf(from),
  tentativas_retry: from.tentativas_retry,
  max_retries: from.max_retries,
  reaproveitar: from.reaproveitar,
  prioridade: from.prioridade,
  peso: from.peso,
  origem_id: from.origem_id,
  modelo: from.modelo,
  ...costOf(from),
  simulado: from.simulado ?? isSimulated,
  ocr_segundos: from.ocr_segundos,
  paginas: from.paginas,
  criado_por: from.criado_por,
  criado_em: from.criado_em,
  concluido_em: from.concluido_em,
})

export const detailedWire = (from: Execution, isSimulated: boolean) => ({
  id: from.id,
  status: from.status,
  status_exibicao: labelOf(from),
  ...countsOf(from),
  ultimo_heartbeat: from.ultimo_heartbeat,
  segundos_sem_progresso: from.segundos_sem_progresso,
  ultimo_codigo_processado: from.ultimo_codigo_processado,
  tentativas_retry: from.tentativas_retry,
  max_retries: from.max_retries,
  // An execution without resumes left is ERRO, not TRAVADO.
  pode_retomar: from.status === 'TRAVADO',
  rota_origem: '/classificador/',
  prioridade: from.prioridade,
  peso: from.peso,
  modelo: from.modelo,
  ...costOf(from),
  limite_custo_usd: dollars(from.custo_permitido_usd),
  simulado: from.simulado ?? isSimulated,
  ocr_segundos: from.ocr_segundos,
})

const ocrOf = (from: Result) => ({
  ocr: from.ocr,
  ocr_paginas: from.ocr_paginas,
  ocr_confianca: from.ocr_confianca,
  ocr_segundos: from.ocr_segundos,
})

export const documentWire = (from: Result, isSimulated: boolean) => ({
  codigo: from.codigo,
  status: from.status,
  tentativas: from.tentativas,
  erro_mensagem: from.erro_mensagem,
  ultimo_erro_em: from.ultimo_erro_em,
  categoria: from.categoria,
  confianca: from.confianca,
  simulado: from.simulado ?? isSimulated,
  duplicado_de: from.duplicado_de,
  reaproveitado: from.reaproveitado,
  ...reviewOf(from),
  ...ocrOf(from),
})

export const documentErrorWire = (from: Result, isOperator: boolean) => ({
  codigo: from.codigo,
  status: from.status,
  tentativas: from.tentativas,
  erro_mensagem: from.erro_mensagem,
  erro_stack: isOperator ? from.erro_stack : null,
  ultimo_erro_em: from.ultimo_erro_em,
  resposta_ia: isOperator ? from.resposta_ia : null,
})

export const resultWire = (from: Result, isSimulated: boolean) => ({
  codigo: from.codigo,
  categoria: from.categoria,
  confianca: from.confianca,
  justificativa: from.justificativa,
  status: from.status,
  modelo: from.modelo,
  tokens_entrada: from.tokens_entrada,
  tokens_saida: from.tokens_saida,
  ...costOf(from),
  simulado: from.simulado ?? isSimulated,
  erro_mensagem: from.erro_mensagem,
  ...reviewOf(from),
  ...ocrOf(from),
})

export const categoryCount = z
  .object({
    categoria: z.string(),
    documentos: count,
    revisar: count.meta({ description: 'that ask for a review' }),
    aceitos: count,
    corrigidos: count,
    confianca_media: z.number().nullable(),
    custo_usd: usd,
    custo_usd_exato: exactUsd,
    moeda,
  })
  .meta({ id: 'ContagemDeCategoria' })

export const categoryCountWire = (categoria: string, from: CategoryCount | undefined) => ({
  categoria,
  documentos: from?.documentos ?? 0,
  revisar: from?.revisar ?? 0,
  aceitos: from?.aceitos ?? 0,
  corrigidos: from?.corrigidos ?? 0,
  confianca_media: from?.confianca_media ?? null,
  ...costOf({ custo_usd: from?.custo_usd ?? '0' }),
})

export const documentDetail = z
  .object({
    ...document.shape,
    justificativa: z.string().nullable(),
    modelo: z.string().nullable(),
    tokens_entrada: count.nullable(),
    tokens_saida: count.nullable(),
    custo_usd: usd.nullable(),
    custo_usd_exato: exactUsd.nullable(),
    moeda,
    resposta_ia: z
      .string()
      .nullable()
      .meta({ description: 'what the AI wrote, useful or not, at most 4,000 characters; null for viewers' }),
  })
  .meta({ id: 'DocumentoEmDetalhe' })

export const documentDetailWire = (from: Result, isSimulated: boolean, isOperator: boolean) => ({
  ...documentWire(from, isSimulated),
  justificativa: from.justificativa,
  modelo: from.modelo,
  tokens_entrada: from.tokens_entrada,
  tokens_saida: from.tokens_saida,
  ...costOf(from),
  resposta_ia: isOperator ? from.resposta_ia : null,
})
