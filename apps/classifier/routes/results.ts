/** Shows the documents of an execution: status, errors, results, and the file as sent. */
import { localized, RetomaError } from 'retoma'
import { type Call, download, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { csvHead, csvRow } from '../csv.ts'
import type { Runs } from '../runs.ts'
import { countByCategory, listResults, type Result, type ResultFilter, readSource } from '../store/results.ts'
import { readSettings } from '../store/runs.ts'
import { storable } from '../text.ts'
import {
  categoryCount,
  categoryCountWire,
  count,
  document,
  documentError,
  documentErrorWire,
  documentStatus,
  documentWire,
  result,
  resultWire,
  reviewKind,
} from '../wire.ts'
import { xlsxOf, xlsxType } from '../xlsx.ts'
import { executionOf, idParams, isPlayed, mark, markOf, pageFrom, pageOf, pageQuery, placeOf, tag } from './shared.ts'

type Asked = Call<{ id: string }, { after?: string | undefined; limit: number } & ResultFilter>

async function pageOfResults({ engine, params, query }: Asked, only: ResultFilter = {}) {
  const { after, limit, ...filter } = query
  const from = { after: placeOf(after, '0'), limit: limit + 1, ...filter, ...only }
  return pageFrom(await listResults(engine, params.id, from), limit, each => String(each.n))
}

const filterQuery = {
  status: documentStatus.optional(),
  categoria: z.string().max(100).optional().meta({ description: 'without case and accents' }),
  revisar: z.string().max(10).pipe(z.stringbool()).optional().meta({ description: 'only those that ask for a review' }),
  revisao: reviewKind.optional(),
  busca: z
    .string()
    .overwrite(storable)
    .min(2)
    .max(200)
    .optional()
    .meta({ description: 'in the text or the codigo, without case and accents' }),
  confianca_abaixo_de: z.coerce
    .number()
    .min(0)
    .max(1)
    .optional()
    .meta({ description: 'answered with less confidence' }),
}

const rowsAtOnce = 500

type Exported = Call<{ id: string }, ResultFilter>

/** Reads all results that fit the filters a page at a time, so the whole list is never in memory. */
async function* everyResult({ engine, params, query }: Exported): AsyncGenerator<Result[]> {
  for (let after = '0'; ; ) {
    const rows = await listResults(engine, params.id, { ...query, after, limit: rowsAtOnce })
    if (rows.length > 0) yield rows
    if (rows.length < rowsAtOnce) return
    after = String(rows.at(-1)!.n)
  }
}

/** Reads as fast as the client takes the rows. */
function csvOf(call: Exported, isSimulated: boolean): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const rows = everyResult(call)
  return new ReadableStream({
    start: flow => flow.enqueue(encoder.encode(csvHead())),
    async pull(flow) {
      const { done, value } = await rows.next()
      if (done) flow.close()
      else flow.enqueue(encoder.encode(value.map(row => csvRow(row, isSimulated)).join('')))
    },
    async cancel() {
      await rows.return(undefined)
    },
  })
}

async function xlsxFor(call: Exported, isSimulated: boolean): Promise<Buffer> {
  const rows: Result[] = []
  for await (const some of everyResult(call)) rows.push(...some)
  return xlsxOf(rows, isSimulated)
}

/** A text sent as JSON, returned as a file. */
async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}

export const noDocument = (id: string) => new RetomaError('not_found', { what: localized('document', 'documento'), id })

export const resultRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'get',
    path: '/execucoes/{id}/documentos',
    name: 'listDocuments',
    tag,
    summary: 'Lists the documents of an execution in the order of the upload, with their status',
    role: 'viewer',
    params: idParams,
    query: z.strictObject({ ...filterQuery, ...pageQuery }),
    answer: pageOf(document),
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const isSimulated = isPlayed(runs, await executionOf(call, runs, call.params.id))
      const { items, next } = await pageOfResults(call)
      return { items: items.map(each => documentWire(each, isSimulated)), next, ...mark(isSimulated) }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/documentos/{codigo}/arquivo',
    name: 'downloadDocument',
    tag,
    summary: 'Downloads a document as it was sent',
    role: 'viewer',
    params: z.object({ id: z.string(), codigo: z.string() }),
    answers: 'application/octet-stream',
    errors: ['not_found'],
    async run({ engine, log, params: { id, codigo } }) {
      await executionOf({ engine, log }, runs, id)
      const source = await readSource(engine, id, codigo)
      if (source === undefined) throw noDocument(codigo)
      if (source.file === null) return textFile(codigo, source.text ?? '')
      const file = await engine.files.open(source.file)
      if (file === null) throw noDocument(codigo)
      return download(file)
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/erros',
    name: 'listDocumentErrors',
    tag,
    summary:
      'Lists the documents with an error, each with the last error; the stack and the raw answer of the AI only for operators and admins',
    role: 'viewer',
    params: idParams,
    query: z.strictObject(pageQuery),
    answer: z.object({ total: count, documentos: z.array(documentError), next: z.string().nullable(), ...markOf }),
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const found = await executionOf(call, runs, call.params.id)
      const { items, next } = await pageOfResults(call, { status: 'ERRO' })
      const documentos = items.map(each => documentErrorWire(each, call.who.role !== 'viewer'))
      return { total: found.erros, documentos, next, ...mark(isPlayed(runs, found)) }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/resultados',
    name: 'listResults',
    tag,
    summary: 'Lists the category, the confidence and the cost of each document',
    role: 'viewer',
    params: idParams,
    query: z.strictObject({ ...filterQuery, ...pageQuery }),
    answer: pageOf(result),
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const isSimulated = isPlayed(runs, await executionOf(call, runs, call.params.id))
      const { items, next } = await pageOfResults(call)
      return { items: items.map(each => resultWire(each, isSimulated)), next, ...mark(isSimulated) }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/categorias',
    name: 'countCategories',
    tag,
    summary: 'Counts the documents of each category, the documents to review, and the cost',
    role: 'viewer',
    params: idParams,
    answer: z.object({
      items: z.array(categoryCount),
      sem_categoria: count.meta({ description: 'documents without an answer' }),
      ...markOf,
    }),
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const found = await executionOf(call, runs, call.params.id)
      const rows = await countByCategory(call.engine, found.id)
      const listed = (await readSettings(call.engine, found.id))?.categories ?? []
      const of = (category: string | null) => rows.find(each => each.categoria === category)
      return {
        items: listed.map(each => categoryCountWire(each, of(each))),
        sem_categoria: of(null)?.documentos ?? 0,
        ...mark(isPlayed(runs, found)),
      }
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/resultados.csv',
    name: 'downloadResults',
    tag,
    summary: 'Exports the results as CSV for a spreadsheet: UTF-8, semicolons, decimal commas, no formulas',
    role: 'viewer',
    params: idParams,
    query: z.strictObject(filterQuery),
    answers: 'text/csv',
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const found = await executionOf(call, runs, call.params.id)
      call.headers.set('content-type', 'text/csv; charset=utf-8')
      call.headers.set('content-disposition', `attachment; filename="resultados-${found.id}.csv"`)
      return new Response(csvOf(call, isPlayed(runs, found)), { headers: call.headers })
    },
  }),
  route({
    method: 'get',
    path: '/execucoes/{id}/resultados.xlsx',
    name: 'downloadWorkbook',
    tag,
    summary: 'Exports the results as XLSX; no cell is a formula',
    role: 'viewer',
    params: idParams,
    query: z.strictObject(filterQuery),
    answers: xlsxType,
    errors: ['not_found'],
    heavy: true,
    async run(call) {
      const found = await executionOf(call, runs, call.params.id)
      const workbook = await xlsxFor(call, isPlayed(runs, found))
      call.headers.set('content-type', xlsxType)
      call.headers.set('content-disposition', `attachment; filename="resultados-${found.id}.xlsx"`)
      return new Response(new Uint8Array(workbook), { headers: call.headers })
    },
  }),
]

function textFile(codigo: string, text: string): Response {
  const bytes = new TextEncoder().encode(text)
  const name = /\.\w{1,5}$/.test(codigo) ? codigo : `${codigo}.txt`
  const about = { id: '', name, type: 'text/plain', size: bytes.byteLength, sha256: '', createdAt: new Date(0) }
  return download({ ...about, bytes: bytesOf(text) })
}
