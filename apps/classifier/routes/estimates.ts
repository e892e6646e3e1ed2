/** Shows, before an execution starts, what it would cost and take, and the question that the AI would get. */
import { type Engine, localized, RetomaError } from 'retoma'
import { type Route, route, tooLong } from 'retoma/http'
import { z } from 'zod'
import { isArchive } from '../archive.ts'
import { largestFile, mostDocuments, tooLarge } from '../documents.ts'
import { errors } from '../errors.ts'
import { estimateOf, type Size, sizeOfFile } from '../estimate.ts'
import { cents, currency, exactly } from '../money.ts'
import { examplesBeside, promptOf } from '../prompt.ts'
import { defaultModel } from '../providers/openrouter.ts'
import { examplesFor, noExecution, noProject, type Runs } from '../runs.ts'
import { sampleOf } from '../sample.ts'
import { readBasis } from '../store/estimates.ts'
import { type ProjectRow, readProject } from '../store/projects.ts'
import { chooseDocuments } from '../store/reruns.ts'
import { readSource } from '../store/results.ts'
import { readSettings } from '../store/runs.ts'
import { count, exactUsd, moeda, simulado, usd } from '../wire.ts'
import { modelo } from './projects.ts'
import { amostra, choiceFields, choiceOf } from './reruns.ts'
import { noDocument } from './results.ts'
import { executionOf, idParams, isId, isPlayed, tag } from './shared.ts'

const estimate = z
  .object({
    documentos: count,
    modelo: z.string().nullable(),
    custo_usd: usd
      .nullable()
      .meta({ description: 'null: no past answer of this model to estimate from; run a sample' }),
    custo_usd_exato: exactUsd.nullable(),
    custo_maximo_usd: exactUsd.nullable().meta({ description: 'if each cost as much as the dearest of the past' }),
    moeda,
    segundos: count.nullable().meta({ description: 'at the pace of the latest executions of this model' }),
    base: z.object({ documentos: count }).meta({ description: 'past answers that the estimate stands on' }),
    simulado,
  })
  .meta({ id: 'Estimativa' })

const prompt = z
  .object({
    modelo: z.string(),
    mensagens: z.array(z.object({ papel: z.enum(['system', 'user']), conteudo: z.string() })),
    caracteres: count,
    exemplos: count.meta({ description: 'corrections of people among the messages' }),
    simulado,
  })
  .meta({ id: 'Prompt' })

/** The limits of an upload. The number of documents in a ZIP is not known. */
function refuseUnlikeUpload(nome: string, bytes: number, n: number): void {
  if (isArchive({ name: nome, type: '' }))
    throw new RetomaError('bad_request', {
      field: `documentos.${n}.nome`,
      problem: localized(
        'the number of documents in a ZIP is not known: name the files in the ZIP, with the size of each',
        'não se sabe quantos documentos há em um ZIP: informe os arquivos de dentro dele, com o tamanho de cada um',
      ),
    })
  if (bytes > largestFile) throw tooLarge(nome, largestFile)
}

async function projectOf(engine: Engine, id: string): Promise<ProjectRow> {
  const found = isId(id) ? await readProject(engine, id) : undefined
  if (found === undefined) throw noProject(id)
  return found
}

async function estimated(
  engine: Engine,
  runs: Runs,
  asked: { project: string; model: string | null; sizes: readonly Size[] },
) {
  const { project, model, sizes } = asked
  const endings = [...new Set(sizes.flatMap(each => ('ending' in each ? [each.ending] : [])))]
  const basis = await readBasis(engine, { project, model, simulated: runs.isSimulated, endings })
  const { costUsd, highestUsd, seconds } = estimateOf(sizes, basis, runs.requestsPerMinute)
  return {
    documentos: sizes.length,
    modelo: model,
    custo_usd: cents(costUsd),
    custo_usd_exato: exactly(costUsd),
    custo_maximo_usd: exactly(highestUsd),
    moeda: currency,
    segundos: seconds,
    base: { documentos: basis.documents },
    simulado: runs.isSimulated,
  }
}

const placeholder = '[o texto do documento]'

function shown(
  asking: Parameters<typeof promptOf>[0],
  model: string,
  text: string,
  hash: Uint8Array = new Uint8Array(),
) {
  const messages = promptOf(asking, text, hash)
  return {
    modelo: model,
    mensagens: messages.map(({ role, content }) => ({ papel: role, conteudo: content })),
    caracteres: messages.reduce((sum, { content }) => sum + content.length, 0),
    exemplos: examplesBeside(hash, asking.examples ?? []).length,
  }
}

export const estimateRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'post',
    path: '/projetos/{id}/estimativa',
    name: 'estimateProject',
    tag,
    summary: 'What documents of these sizes would cost and take, by the latest answers of the model',
    role: 'viewer',
    params: idParams,
    body: z.strictObject({
      documentos: z
        .array(z.strictObject({ nome: z.string().max(1000).default(''), bytes: z.int().min(0) }))
        .min(1)
        .max(mostDocuments)
        .register(tooLong, { error: errors.too_many_documents }),
      modelo: modelo.optional(),
    }),
    largest: 4 * 1024 * 1024,
    mostValues: 10 * mostDocuments,
    answer: estimate,
    errors: ['not_found', errors.too_many_documents, errors.document_too_large],
    heavy: true,
    async run({ engine, params, body }) {
      for (const [n, { nome, bytes }] of body.documentos.entries()) refuseUnlikeUpload(nome, bytes, n)
      const project = await projectOf(engine, params.id)
      return estimated(engine, runs, {
        project: project.id,
        model: body.modelo ?? project.model ?? runs.model ?? null,
        sizes: body.documentos.map(({ nome, bytes }) => sizeOfFile(nome, bytes)),
      })
    },
  }),
  route({
    method: 'post',
    path: '/execucoes/{id}/estimativa',
    name: 'estimateRerun',
    tag,
    summary: 'Estimates the cost and the time of another run of all or some documents',
    role: 'viewer',
    params: idParams,
    body: z.strictObject({ modelo: modelo.optional(), amostra, ...choiceFields }).optional(),
    largest: 1024 * 1024,
    answer: estimate,
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const { engine, params } = call
      const body = call.body ?? {}
      const { projeto_id: project } = await executionOf(call, runs, params.id)
      const settings = await readSettings(engine, params.id)
      if (settings === undefined) throw noExecution(params.id)
      const chosen = await chooseDocuments(engine, params.id, choiceOf(body, settings))
      const model = body.modelo ?? settings.model
      const sampled = sampleOf(chosen.length, body.amostra ?? null)
      const sizes = chosen.filter((_, n) => sampled[n]).map(({ length: characters }) => ({ characters }))
      return estimated(engine, runs, { project, model, sizes })
    },
  }),
  route({
    method: 'get',
    path: '/projetos/{id}/prompt',
    name: 'getProjectPrompt',
    tag,
    summary: 'Shows the question that the AI would get for a document of the next execution',
    role: 'viewer',
    params: idParams,
    answer: prompt,
    errors: ['not_found'],
    async run({ engine, params }) {
      const project = await projectOf(engine, params.id)
      const examples = await examplesFor(engine, project, project.categories)
      const model = project.model ?? runs.model ?? defaultModel
      return { ...shown({ ...project, examples }, model, placeholder), simulado: runs.isSimulated }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/prompt',
    name: 'getExecutionPrompt',
    tag,
    summary:
      'Shows the question that the AI gets for a document of this execution; with `codigo`, for the named document',
    role: 'viewer',
    params: idParams,
    query: z.strictObject({ codigo: z.string().max(1000).optional() }),
    answer: prompt,
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const { engine, params, query } = call
      const execution = await executionOf(call, runs, params.id)
      const settings = await readSettings(engine, params.id)
      if (settings === undefined) throw noExecution(params.id)
      const source = query.codigo === undefined ? undefined : await readSource(engine, params.id, query.codigo)
      if (query.codigo !== undefined && source === undefined) throw noDocument(query.codigo)
      const text = source?.content ?? source?.text ?? placeholder
      const model = settings.model ?? runs.model ?? defaultModel
      return { ...shown(settings, model, text, source?.hash), simulado: isPlayed(runs, execution) }
    },
  }),
]
