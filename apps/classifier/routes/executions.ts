/** Creates, lists, shows and erases executions. execution-actions.ts has the actions on an execution. */
import { type Engine, isRetomaError, type JobTransaction, localized, RetomaError } from 'retoma'
import { type Call, clockOf, once, type Route, route, tooLong } from 'retoma/http'
import { z } from 'zod'
import { largestArchive } from '../archive.ts'
import { largestTexts, leave, mostDocuments, type Received, receiveFiles, receiveTexts } from '../documents.ts'
import { errors } from '../errors.ts'
import { eraseRun, makeRun, noProject, type Runs } from '../runs.ts'
import { listExecutions } from '../store/executions.ts'
import { readProject } from '../store/projects.ts'
import { count, execution, executionWire, prioridade, simulado, status } from '../wire.ts'
import { pagesOf, paginas } from './projects.ts'
import { amostra } from './reruns.ts'
import { executionOf, idParams, isId, mark, pageFrom, pageOf, pageQuery, placeOf, readHere, tag } from './shared.ts'
import { webhookFields, webhookIn, webhookOf } from './webhooks.ts'

/** Accepts a number or text; an unknown id is 404, whatever the form. */
const id = z.union([z.string().min(1).max(10_000), z.int()]).transform(String)

const texts = z.strictObject({
  projeto_id: id,
  reaproveitar: z.boolean().default(false).meta({ description: 'a paid answer to the same bytes is used again' }),
  prioridade: prioridade.optional(),
  ...webhookFields,
  amostra,
  paginas: paginas.optional(),
  documentos: z
    .array(z.strictObject({ codigo: z.string().min(1).max(1000), texto: z.string().max(largestTexts) }))
    .max(mostDocuments)
    .meta({ description: `1 to ${mostDocuments}; codigo is made unique and at most 100 characters` })
    .register(tooLong, { error: errors.too_many_documents }),
})

const refuse = (field: string, en: string, pt: string) =>
  new RetomaError('bad_request', { field, problem: localized(en, pt) })

function yes(given: string | undefined): boolean {
  if (given === undefined || given === '' || given === 'false' || given === '0') return false
  if (given === 'true' || given === '1') return true
  throw refuse('reaproveitar', 'it is true or false', 'é true ou false')
}

function priorityOf(given: string | undefined): number | undefined {
  if (given === undefined || given === '') return undefined
  if (/^\d$/.test(given)) return Number(given)
  throw refuse('prioridade', 'it is a whole number from 0 to 9', 'é um número inteiro de 0 a 9')
}

/** The size of a sample in a field of a form. */
function sizeIn(given: string | undefined): number | null {
  if (given === undefined || given === '') return null
  if (/^\d{1,4}$/.test(given) && Number(given) >= 1 && Number(given) <= mostDocuments) return Number(given)
  throw refuse('amostra', `it is a number from 1 to ${mostDocuments}`, `é um número de 1 a ${mostDocuments}`)
}

async function refuseUnknown(engine: Engine, project: string): Promise<void> {
  if (!isId(project) || (await readProject(engine, project)) === undefined) throw noProject(project)
}

/** Receives files or texts. The names and hashes distinguish the request from other requests. */
async function received(call: Call<undefined, undefined, z.output<typeof texts>>) {
  const { engine, upload, body } = call
  if (upload === undefined)
    return {
      documents: receiveTexts(body.documentos),
      project: body.projeto_id,
      reuse: body.reaproveitar,
      priority: body.prioridade,
      webhook: webhookOf(body),
      sample: body.amostra ?? null,
      pages: pagesOf(body.paginas),
      digest: '',
    }
  const { documents, fields } = await receiveFiles(engine, upload, async (field, value) => {
    if (field === 'projeto_id' && value.trim() !== '') await refuseUnknown(engine, value.trim())
  })
  try {
    const project = fields.get('projeto_id')?.trim()
    if (!project) throw refuse('projeto_id', 'it is missing', 'está faltando')
    const reuse = yes(fields.get('reaproveitar')?.trim())
    const priority = priorityOf(fields.get('prioridade')?.trim())
    const webhook = webhookIn(fields)
    const sample = sizeIn(fields.get('amostra')?.trim())
    const pages = pagesOf(fields.get('paginas')?.trim() || undefined)
    return { documents, project, reuse, priority, webhook, sample, pages, digest: digestOf({ documents, fields }) }
  } catch (error) {
    await leave(engine, documents)
    throw error
  }
}

const digestOf = ({ documents, fields }: Received): string =>
  JSON.stringify([[...fields].sort(), documents.map(({ code, hash }) => [code, Buffer.from(hash).toString('hex')])])

export const executionRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'post',
    path: '/execucoes',
    name: 'createExecution',
    tag,
    summary: 'Creates an execution from files in a form (PDF, text, Office, mail, images, ZIP) or texts in JSON',
    role: 'operator',
    body: texts,
    largest: largestTexts,
    mostValues: 10 * mostDocuments,
    upload: {
      fields: ['projeto_id', 'reaproveitar', 'prioridade', 'webhook_url', 'webhook_segredo', 'amostra', 'paginas'],
      files: ['arquivos'],
      required: ['projeto_id', 'arquivos'],
      mostFiles: mostDocuments,
      // The limit of the form parser does not name the file; our own error does.
      largestFile: largestArchive + 1,
    },
    answer: z.object({ id: z.string(), status, total: count, simulado }),
    status: 201,
    makes: 'exactly',
    errors: ['not_found', errors.too_many_documents, errors.document_too_large, errors.archives_too_large],
    async run(call) {
      const { engine, who } = call
      const { documents, project, reuse, priority, webhook, sample, pages, digest } = await received(call)
      let made: string | undefined
      const make = async (tx: JobTransaction) => {
        if (!isId(project)) throw noProject(project)
        const asked = { project, reuse, documents, by: who.user, priority, webhook, sample, pages }
        made = await makeRun(engine, tx, runs, asked)
        const value = { id: made, status: 'PENDENTE', total: documents.length, simulado: runs.isSimulated }
        return { status: 201, value }
      }
      try {
        const answer = await once(call, make, { digest, left: () => leave(engine, documents) })
        // The execution exists now, whatever happens next: a job submits the execution.
        if (made !== undefined) await executionOf(call, runs, made).catch(() => {})
        return answer
      } catch (error) {
        // The request was refused, so nothing was created. After a 5xx the files may belong to an execution: the janitor can decide.
        if (isRetomaError(error) && error.status < 500) await leave(engine, documents)
        throw error
      }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes',
    name: 'listExecutions',
    tag,
    summary: 'Lists executions, the newest first',
    role: 'viewer',
    query: z.strictObject({ projeto_id: z.string().max(10_000).optional(), status: status.optional(), ...pageQuery }),
    answer: pageOf(execution),
    heavy: true,
    async run({ engine, query: { projeto_id, status = null, after, limit } }) {
      if (projeto_id !== undefined && !isId(projeto_id)) return { items: [], next: null, ...mark(runs.isSimulated) }
      const filter = { after: placeOf(after), project: projeto_id ?? null, status, limit: limit + 1 }
      const found = await listExecutions(engine, filter, clockOf(engine).instant())
      const { items, next } = pageFrom(found, limit, each => each.id)
      const { isSimulated } = runs
      return { items: items.map(each => executionWire(each, isSimulated)), next, ...mark(isSimulated) }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}',
    name: 'getExecution',
    tag,
    summary: 'Gets an execution with status, counts and cost',
    role: 'viewer',
    params: idParams,
    answer: execution,
    errors: ['not_found'],
    run: async call => executionWire(await executionOf(call, runs, call.params.id), runs.isSimulated),
  }),
  route({
    method: 'delete',
    path: '/execucoes/{id}',
    name: 'eraseExecution',
    tag,
    summary: 'Erases a finished execution: documents, files, results, bought answers, errors and events',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found', errors.execution_state],
    async run({ engine, params }) {
      if (isId(params.id) && (await eraseRun(engine, params.id))) return
      const { status } = await readHere(engine, params.id)
      throw new RetomaError(errors.execution_state, { id: params.id, status, action: 'DELETE' })
    },
  }),
]
