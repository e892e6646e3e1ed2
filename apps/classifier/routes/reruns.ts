/** Runs documents again without another upload, and compares two executions. */
import { localized, RetomaError } from 'retoma'
import { once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { mostDocuments } from '../documents.ts'
import { errors } from '../errors.ts'
import { fold } from '../fold.ts'
import { cents, currency, exactly } from '../money.ts'
import { noExecution, type Runs, remakeRun, type SettingsChange } from '../runs.ts'
import { type Choice, compareRuns, listChanged } from '../store/reruns.ts'
import { readSettings, type Settings } from '../store/runs.ts'
import { count, exactUsd, modelNow, moeda, prioridade, simulado, status, usd } from '../wire.ts'
import { categorias, instrucoes, limite, modelo, pagesOf, paginas, refuseAlike } from './projects.ts'
import { executionOf, idParams, isId, isPlayed, pageFrom, pageQuery, placeOf, tag } from './shared.ts'
import { webhookFields, webhookOf } from './webhooks.ts'

const confidence = z.number().min(0).max(1)

export const amostra = z
  .int()
  .min(1)
  .max(mostDocuments)
  .optional()
  .meta({ description: 'only so many documents, chosen evenly, are classified; the others are PULADO' })

/** Which documents of an execution run again. */
export const choiceFields = {
  somente_erros: z.boolean().optional().meta({ description: 'only documents that are ERRO' }),
  somente_categoria: z.string().max(100).optional().meta({ description: 'only documents of this category' }),
  confianca_abaixo_de: confidence.optional().meta({ description: 'only documents answered with less confidence' }),
  codigos: z
    .array(z.string().max(1000))
    .min(1)
    .max(mostDocuments)
    .optional()
    .meta({ description: 'only these documents' }),
  fora_da_amostra: z.boolean().optional().meta({ description: 'only documents that a sample left out' }),
}

/** The documents that a request chooses; `settings` of the execution. */
export function choiceOf(body: Chosen, settings: Settings): Choice {
  const { somente_categoria: only } = body
  return {
    onlyErrors: body.somente_erros ?? false,
    category: only === undefined ? null : categoryOf(settings.categories, only, 'somente_categoria'),
    confidenceBelow: body.confianca_abaixo_de ?? null,
    codes: body.codigos ?? null,
    onlyOutsideSample: body.fora_da_amostra ?? false,
  }
}

type Chosen = { [Name in keyof typeof choiceFields]?: z.output<(typeof choiceFields)[Name]> }

const rerun = z.strictObject({
  modelo: modelo.nullable().optional().meta({ description: 'another model; null: the one of OPENROUTER_MODEL' }),
  instrucoes: instrucoes.optional(),
  categorias: categorias.optional(),
  limite_custo_usd: limite.optional(),
  prioridade: prioridade.optional(),
  reaproveitar: z.boolean().optional().meta({
    description: 'a paid answer to the same bytes with the same model, categories and instructions is used again',
  }),
  ...webhookFields,
  amostra,
  paginas: paginas.optional(),
  ...choiceFields,
})

const refuse = (field: string, en: string, pt: string) =>
  new RetomaError('bad_request', { field, problem: localized(en, pt) })

/** The category as the execution spells the category. */
export function categoryOf(categories: readonly string[], given: string, field: string): string {
  const known = categories.find(each => each === given) ?? categories.find(each => fold(each) === fold(given))
  if (known !== undefined) return known
  throw refuse(field, 'it is a category of the execution', 'é uma categoria da execução')
}

function changeOf(body: z.output<typeof rerun>): SettingsChange {
  refuseAlike(body.categorias ?? [])
  const named = {
    model: body.modelo,
    instructions: body.instrucoes,
    categories: body.categorias,
    cost_limit_usd: body.limite_custo_usd,
    priority: body.prioridade,
    pages: pagesOf(body.paginas),
  }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined))
}

const side = z.object({
  id: z.string(),
  modelo: modelNow,
  total: count,
  custo_usd: usd,
  custo_usd_exato: exactUsd,
  custo_em_comum_usd: exactUsd.meta({ description: 'of the documents that both have, with six decimals' }),
})

const comparison = z
  .object({
    a: side,
    b: side,
    moeda,
    em_comum: count.meta({ description: 'documents with the same codigo and the same bytes in both' }),
    somente_em_a: count,
    somente_em_b: count,
    arquivo_diferente: count.meta({ description: 'the same codigo, but other bytes: not compared' }),
    comparados: count.meta({ description: 'answered by the AI in both' }),
    iguais: count,
    diferentes: count,
    concordancia: z.number().nullable().meta({ description: 'of a hundred compared, how many are equal; null: none' }),
    confusao: z.array(z.object({ categoria_a: z.string(), categoria_b: z.string(), documentos: count })),
    mudancas: z.array(
      z.object({
        codigo: z.string(),
        categoria_a: z.string(),
        categoria_b: z.string(),
        confianca_a: z.number().nullable(),
        confianca_b: z.number().nullable(),
      }),
    ),
    next: z.string().nullable().meta({ description: 'of mudancas' }),
    simulado,
  })
  .meta({ id: 'Comparacao' })

export const percent = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.floor((part * 1000) / whole) / 10

export const rerunRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'post',
    path: '/execucoes/{id}/nova',
    name: 'runAgain',
    tag,
    summary: 'Runs all or some documents of an execution again without an upload, with other settings',
    role: 'operator',
    params: idParams,
    body: rerun.optional(),
    largest: 1024 * 1024,
    answer: z.object({ id: z.string(), status, total: count, origem_id: z.string(), simulado }),
    status: 201,
    makes: 'exactly',
    errors: ['not_found', errors.no_documents_chosen],
    async run(call) {
      const { engine, who, params } = call
      const body: z.output<typeof rerun> = call.body ?? {}
      const change = changeOf(body)
      if (change.model === null) change.model = runs.model ?? null
      const settings = isId(params.id) ? await readSettings(engine, params.id) : undefined
      if (settings === undefined) throw noExecution(params.id)
      const choice = choiceOf(body, settings)
      let made: string | undefined
      const answer = await once(call, async tx => {
        const asked = {
          source: params.id,
          choice,
          change,
          reuse: body.reaproveitar ?? false,
          by: who.user,
          webhook: webhookOf(body),
          sample: body.amostra ?? null,
        }
        const { id, total } = await remakeRun(engine, tx, runs, asked)
        made = id
        const value = { id, status: 'PENDENTE', total, origem_id: params.id, simulado: runs.isSimulated }
        return { status: 201, value }
      })
      // The execution exists now, whatever happens next: a job submits the execution.
      if (made !== undefined) await executionOf(call, runs, made).catch(() => {})
      return answer
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{a}/comparar/{b}',
    name: 'compareExecutions',
    tag,
    summary: 'Compares two executions: agreement, changed documents and the cost of each',
    role: 'viewer',
    params: z.object({ a: z.string(), b: z.string() }),
    query: z.strictObject(pageQuery),
    answer: comparison,
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const { engine, params, query } = call
      const [a, b] = [await executionOf(call, runs, params.a), await executionOf(call, runs, params.b)]
      const found = await compareRuns(engine, a.id, b.id)
      const from = { a: a.id, b: b.id, after: placeOf(query.after, '0'), limit: query.limit + 1 }
      const { items, next } = pageFrom(await listChanged(engine, from), query.limit, each => String(each.n))
      const sideOf = ({ id, modelo, total, custo_usd: cost }: typeof a, common: string) => ({
        id,
        modelo,
        total,
        custo_usd: cents(cost),
        custo_usd_exato: exactly(cost),
        custo_em_comum_usd: exactly(common),
      })
      return {
        a: sideOf(a, found.costA),
        b: sideOf(b, found.costB),
        moeda: currency,
        em_comum: found.common,
        somente_em_a: found.onlyA,
        somente_em_b: found.onlyB,
        arquivo_diferente: found.otherBytes,
        comparados: found.compared,
        iguais: found.equal,
        diferentes: found.compared - found.equal,
        concordancia: percent(found.equal, found.compared),
        confusao: found.confusion.map(each => ({
          categoria_a: each.a,
          categoria_b: each.b,
          documentos: each.documents,
        })),
        mudancas: items.map(({ n: _, ...each }) => each),
        next,
        simulado: isPlayed(runs, a) || isPlayed(runs, b),
      }
    },
  }),
]
