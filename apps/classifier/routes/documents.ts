/** Shows a single document, and acts on a single document: another try, a skip, another file. */
import { isRetomaError, RetomaError } from 'retoma'
import { type Call, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { largestFile, leave, receiveFiles } from '../documents.ts'
import { errors } from '../errors.ts'
import type { Runs } from '../runs.ts'
import { includeInSample, readJob, replaceFile } from '../store/documents.ts'
import { readResult } from '../store/results.ts'
import { oneLine } from '../text.ts'
import { document, documentDetail, documentDetailWire, documentWire } from '../wire.ts'
import { noDocument } from './results.ts'
import { batchOf, executionOf, isPlayed, readHere, tag } from './shared.ts'

const params = z.object({ id: z.string(), codigo: z.string() })
type On = Call<{ id: string; codigo: string }>

async function jobIn(call: On, runs: Runs): Promise<{ batch: string; job: string }> {
  const { engine, params } = call
  const batch = await batchOf(call, runs, params.id)
  const job = await readJob(engine, params.id, params.codigo)
  if (job === undefined || job === null) throw noDocument(params.codigo)
  return { batch, job }
}

/** An action in a wrong state is 409, in the words of the document or of the execution. */
async function refused(error: unknown, { engine, params }: On, action: string): Promise<never> {
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) {
    const { status } = await readHere(engine, params.id)
    throw new RetomaError(errors.execution_state, { id: params.id, status, action })
  }
  if (isRetomaError(error, 'wrong_state')) throw await wrongState({ engine, params }, action)
  throw error
}

async function wrongState({ engine, params }: Pick<On, 'engine' | 'params'>, action: string): Promise<RetomaError> {
  const found = await readResult(engine, params.id, params.codigo)
  if (found === undefined) return noDocument(params.codigo)
  return new RetomaError(errors.document_state, { codigo: found.codigo, status: found.status, action })
}

/** Refuses a request before its file is read. The transaction decides: the document may change while the file is read. */
async function refuseUnfinished(call: On, action: string): Promise<void> {
  const { engine, params } = call
  const { status } = await readHere(engine, params.id)
  if (status === 'CANCELADO') throw new RetomaError(errors.execution_state, { id: params.id, status, action })
  const found = await readResult(engine, params.id, params.codigo)
  if (found?.status === 'PENDENTE' || found?.status === 'PROCESSANDO') throw await wrongState(call, action)
}

async function shown(call: On, runs: Runs) {
  const { engine, params } = call
  const execution = await executionOf(call, runs, params.id)
  const found = await readResult(engine, params.id, params.codigo)
  if (found === undefined) throw noDocument(params.codigo)
  return { found, isSimulated: isPlayed(runs, execution) }
}

async function documentAfter(call: On, runs: Runs) {
  const { found, isSimulated } = await shown(call, runs)
  return documentWire(found, isSimulated)
}

const refusals = ['not_found', errors.document_state, errors.execution_state] as const

export const documentRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'get',
    path: '/execucoes/{id}/documentos/{codigo}',
    name: 'getDocument',
    tag,
    summary: 'Gets a document in detail; the raw answer of the AI only for operators and admins',
    role: 'viewer',
    params,
    answer: documentDetail,
    errors: ['not_found'],
    async run(call) {
      const { found, isSimulated } = await shown(call, runs)
      return documentDetailWire(found, isSimulated, call.who.role !== 'viewer')
    },
  }),
  route({
    method: 'post',
    path: '/execucoes/{id}/documentos/{codigo}/reprocessar',
    name: 'retryDocument',
    tag,
    summary: 'Retries a document with status ERRO or PULADO; bought answers are not bought again',
    role: 'operator',
    params,
    answer: document,
    errors: [...refusals, 'queue_full'],
    async run(call) {
      const { engine, params, who } = call
      const { job } = await jobIn(call, runs)
      await engine
        .transaction(async tx => {
          await engine.jobs.retry(job, { by: who.user, tx })
          await includeInSample(tx, params.id, params.codigo)
        })
        .catch(error => refused(error, call, 'reprocessar'))
      return documentAfter(call, runs)
    },
  }),
  route({
    method: 'post',
    path: '/execucoes/{id}/documentos/{codigo}/pular',
    name: 'skipDocument',
    tag,
    summary: 'Skips an unfinished document: status PULADO, with the reason',
    role: 'operator',
    params,
    body: z.strictObject({ motivo: z.string().overwrite(oneLine).min(1).max(500).optional() }).optional(),
    answer: document,
    errors: refusals,
    async run(call) {
      const { job } = await jobIn(call, runs)
      const { motivo = 'pulado por uma pessoa' } = call.body ?? {}
      await call.engine.jobs.skip(job, motivo, { by: call.who.user }).catch(error => refused(error, call, 'pular'))
      return documentAfter(call, runs)
    },
  }),
  route({
    method: 'put',
    path: '/execucoes/{id}/documentos/{codigo}/arquivo',
    name: 'replaceDocument',
    tag,
    summary: 'Replaces the file of a document; the document runs again, without its answer and review',
    role: 'operator',
    params,
    upload: { fields: [], files: ['arquivo'], required: ['arquivo'], mostFiles: 1, largestFile: largestFile + 1 },
    answer: document,
    errors: [...refusals, errors.document_too_large, 'queue_full'],
    async run(call) {
      const { engine, params, who } = call
      const { batch, job } = await jobIn(call, runs)
      await refuseUnfinished(call, 'PUT')
      const { documents } = await receiveFiles(engine, call.upload!, async () => {}, { unpack: false })
      const [sent] = documents
      // A single transaction: the document has the old file with the old answer, or the new file and runs again.
      const replaced = engine.transaction(async tx => {
        const { changed } = await engine.jobs.rerun(job, { by: who.user, tx })
        if (!changed) throw await wrongState(call, 'PUT')
        await engine.files.keep([sent!.file!], { batch, tx })
        return replaceFile(tx, params.id, params.codigo, { file: sent!.file!, hash: sent!.hash })
      })
      const old = await replaced.catch(async error => {
        // After a 5xx the transaction may be committed: the janitor removes a file that nothing keeps.
        if (isRetomaError(error) && error.status < 500) await leave(engine, documents)
        return refused(error, call, 'PUT')
      })
      if (old) await engine.files.remove([old]).catch(() => {})
      return documentAfter(call, runs)
    },
  }),
]
