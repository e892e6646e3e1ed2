/** Reviews answers: a correction by hand, the acceptance of many answers, and the precision measured from both. */
import { localized, RetomaError } from 'retoma'
import { type Route, route } from 'retoma/http'
import { z } from 'zod'
import { mostDocuments } from '../documents.ts'
import { errors } from '../errors.ts'
import { groupsOf } from '../groups.ts'
import { noProject, type Runs } from '../runs.ts'
import { readProject } from '../store/projects.ts'
import { readResult } from '../store/results.ts'
import { acceptAnswers, type Precision, readPrecision, saveReview } from '../store/reviews.ts'
import { readSettings, type Settings } from '../store/runs.ts'
import { count, document, documentWire, simulado } from '../wire.ts'
import { categoryOf, percent } from './reruns.ts'
import { noDocument } from './results.ts'
import { executionOf, idParams, isId, isPlayed, tag } from './shared.ts'

const category = z.string().max(100)

const accepting = z
  .strictObject({
    codigos: z.array(z.string().max(1000)).min(1).max(mostDocuments).optional(),
    categoria: category.optional().meta({ description: 'only answers with this category' }),
    confianca_minima: z
      .number()
      .min(0)
      .max(1)
      .optional()
      .meta({ description: 'only answers with this confidence or more' }),
  })
  .optional()

const measured = {
  revisados: count,
  corretos: count.meta({ description: 'a person accepted the answer' }),
  precisao: z.number().meta({ description: 'of a hundred reviewed, how many were right' }),
}

const precision = z
  .object({
    modelos: z.array(
      z.object({
        modelo: z.string().nullable(),
        ...measured,
        categorias: z.array(z.object({ categoria: z.string(), ...measured })),
      }),
    ),
    simulado,
  })
  .meta({ id: 'Precisao' })

const measuredBy = (rows: readonly Precision[]) => {
  const sum = (of: 'reviewed' | 'right') => rows.reduce((total, each) => total + each[of], 0)
  return { revisados: sum('reviewed'), corretos: sum('right'), precisao: percent(sum('right'), sum('reviewed')) ?? 0 }
}

const modelsOf = (rows: readonly Precision[]) =>
  [...groupsOf(rows, each => each.model)].map(([modelo, ofModel]) => ({
    modelo,
    ...measuredBy(ofModel),
    categorias: ofModel.map(each => ({ categoria: each.category, ...measuredBy([each]) })),
  }))

const refuse = (field: string, en: string, pt: string) =>
  new RetomaError('bad_request', { field, problem: localized(en, pt) })

/** The categories as the execution spells the categories; null: the review is taken back. */
function chosenIn(
  { categoria, categorias }: { categoria?: string | null | undefined; categorias?: string[] | undefined },
  settings: Pick<Settings, 'categories' | 'several'> | undefined,
): { category: string | null; labels: string[] | null } {
  const { categories = [], several = false } = settings ?? {}
  if ((categoria === undefined) === (categorias === undefined))
    throw refuse('categoria', 'either categoria or categorias is given', 'vem ou categoria ou categorias')
  if (categoria === null) return { category: null, labels: null }
  const field = categoria === undefined ? 'categorias' : 'categoria'
  const meant = (categorias ?? [categoria!]).map(each => categoryOf(categories, each, field))
  if (!several && meant.length > 1)
    throw refuse(
      field,
      'this execution has one category for a document',
      'nesta execução um documento tem uma categoria',
    )
  return { category: meant[0]!, labels: several ? categories.filter(each => meant.includes(each)) : null }
}

export const reviewRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'patch',
    path: '/execucoes/{id}/documentos/{codigo}',
    name: 'reviewDocument',
    tag,
    summary: "Corrects a document's category by hand, or accepts it; what the AI answered is kept beside it",
    role: 'operator',
    params: z.object({ id: z.string(), codigo: z.string() }),
    body: z.strictObject({
      categoria: category
        .nullable()
        .optional()
        .meta({ description: 'a category of the execution; null takes the review back' }),
      categorias: z
        .array(category)
        .min(1)
        .max(100)
        .optional()
        .meta({ description: 'in place of categoria, where a document may have several; the main one first' }),
    }),
    answer: document,
    errors: ['not_found', errors.document_state],
    async run(call) {
      const { engine, params, body, who } = call
      const execution = await executionOf(call, runs, params.id)
      const before = await readResult(engine, params.id, params.codigo)
      if (before === undefined) throw noDocument(params.codigo)
      if (before.status === 'PENDENTE' || before.status === 'PROCESSANDO')
        throw new RetomaError(errors.document_state, { codigo: before.codigo, status: before.status, action: 'PATCH' })
      const given = chosenIn(body, await readSettings(engine, params.id))
      await saveReview(engine, params.id, params.codigo, { ...given, by: who.user })
      const after = await readResult(engine, params.id, params.codigo)
      if (after === undefined) throw noDocument(params.codigo)
      return documentWire(after, isPlayed(runs, execution))
    },
  }),
  route({
    method: 'post',
    path: '/execucoes/{id}/aceitar',
    name: 'acceptAnswers',
    tag,
    summary: 'Accepts answers without a review: all, or by category, confidence or code',
    role: 'operator',
    params: idParams,
    body: accepting,
    largest: 1024 * 1024,
    answer: z.object({ id: z.string(), aceitos: count, simulado }),
    errors: ['not_found'],
    async run(call) {
      const { engine, params, body = {}, who } = call
      const execution = await executionOf(call, runs, params.id)
      const categories = (await readSettings(engine, params.id))?.categories ?? []
      const aceitos = await acceptAnswers(engine, params.id, who.user, {
        codes: body.codigos ?? null,
        category: body.categoria === undefined ? null : categoryOf(categories, body.categoria, 'categoria'),
        confidence: body.confianca_minima ?? null,
      })
      return { id: params.id, aceitos, simulado: isPlayed(runs, execution) }
    },
  }),
  route({
    method: 'get',
    path: '/projetos/{id}/precisao',
    name: 'getPrecision',
    tag,
    summary: 'Measures how often the AI was right, by model and category, from the reviews of people',
    role: 'viewer',
    params: idParams,
    query: z.strictObject({
      execucao_id: z.string().max(10_000).optional().meta({ description: 'only this execution of the project' }),
    }),
    answer: precision,
    errors: ['not_found'],
    heavy: true,
    async run({ engine, params: { id }, query: { execucao_id: run } }) {
      if (!isId(id) || (await readProject(engine, id)) === undefined) throw noProject(id)
      const rows = run !== undefined && !isId(run) ? [] : await readPrecision(engine, id, run ?? null)
      return { modelos: modelsOf(rows), simulado: runs.isSimulated }
    },
  }),
]
