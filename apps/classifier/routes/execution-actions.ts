/**
 * Applies an action to an execution, by the contract's table of actions and states. An action may be repeated and run concurrently,
 * because each action is a single call of the engine. An action in a wrong state is 409 with the code.
 *
 * A continued execution is answered as EM_ANDAMENTO, also if a quick worker has finished the execution before the answer.
 */
import { type BatchState, type Engine, type ErrorName, isRetomaError, localized, RetomaError } from 'retoma'
import { type Call, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from '../errors.ts'
import { changeModel, type Runs } from '../runs.ts'
import type { Status } from '../status.ts'
import { allowAgain, noteStarted } from '../store/runs.ts'
import { count, modelNow, simulado, status } from '../wire.ts'
import { modelo } from './projects.ts'
import { batchOf, idParams, isPlayed, readHere, tag } from './shared.ts'

const afterwards = { id: z.string(), status, tentativas_retry: count, max_retries: count, modelo: modelNow, simulado }

/** The body of an action that continues documents. */
const change = z
  .strictObject({
    modelo: modelo
      .optional()
      .meta({ description: 'the model that documents which are not done are asked of from then on' }),
  })
  .optional()

interface On {
  engine: Engine
  id: string
  batch: string
  by: { by: string }
}

/** The engine's answer, and the part for the response. */
interface Applied {
  state: BatchState
  changed: boolean
  answer?: Record<string, number>
}

interface ExecutionAction {
  path: string
  name: string
  summary: string
  /** Further fields of the answer. */
  more?: z.ZodRawShape
  errors?: readonly ErrorName[]
  /** In these states of the batch the action continues documents, and the request may name another model. */
  goesOnFrom?: readonly BatchState[]
  apply(on: On): Promise<Applied>
}

const atWork = ['submitting', 'waiting', 'running'] as const

const actions: readonly ExecutionAction[] = [
  {
    path: 'retomar',
    name: 'resumeExecution',
    summary: 'Resumes an execution with status TRAVADO; the resume is counted',
    more: { retomados: count.meta({ description: 'documents that are not final and go on' }) },
    errors: [errors.execution_paused, 'resumes_spent'],
    goesOnFrom: [...atWork, 'stalled'],
    async apply({ engine, id, batch, by }) {
      await noteStarted(engine, id, ['TRAVADO'])
      const { resumed, ...applied } = await engine.batches.resume(batch, { ...by, from: 'stalled' })
      return { ...applied, answer: { retomados: resumed } }
    },
  },
  {
    path: 'reprocessar-erros',
    name: 'retryDocumentErrors',
    summary: 'Retries the documents with an error, with new attempts; bought answers are not bought again',
    more: { reprocessados: count.meta({ description: 'documents that wait again' }) },
    goesOnFrom: [...atWork, 'paused', 'stalled', 'completed_with_failures', 'failed'],
    async apply({ engine, id, batch, by }) {
      await noteStarted(engine, id, ['TRAVADO', 'ERRO', 'CONCLUIDO'])
      const { retried, ...applied } = await engine.batches.retryFailed(batch, by)
      return { ...applied, answer: { reprocessados: retried } }
    },
  },
  {
    path: 'pausar',
    name: 'pauseExecution',
    summary: 'Pauses an execution: no further document starts; running documents continue',
    apply: ({ engine, batch, by }) => engine.batches.pause(batch, by),
  },
  {
    path: 'continuar',
    name: 'continueExecution',
    summary:
      'Continues an execution with status PAUSADO; after a pause by the cost limit the limit is granted once more',
    goesOnFrom: [...atWork, 'paused'],
    async apply({ engine, id, batch, by }) {
      await allowAgain(engine, id)
      await noteStarted(engine, id, ['PAUSADO'])
      const { resumed: _, ...applied } = await engine.batches.resume(batch, { ...by, from: 'paused' })
      return applied
    },
  },
  {
    path: 'cancelar',
    name: 'cancelExecution',
    summary: 'Cancels an execution at once; finished documents keep their results',
    apply: ({ engine, batch, by }) => engine.batches.cancel(batch, by),
  },
]

/**
 * Translates the error into the words of the execution. `status` is read again, because a concurrent action may have changed the status.
 */
async function refused(error: unknown, call: Call<{ id: string }>, action: string): Promise<never> {
  const { id } = call.params
  if (isRetomaError(error, 'batch_paused')) throw new RetomaError(errors.execution_paused, { id })
  if (isRetomaError(error, 'resumes_spent'))
    throw new RetomaError('resumes_spent', {
      what: localized('execution', 'a execução'),
      id,
      resumes: error.facts.resumes!,
    })
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) {
    const { status } = await readHere(call.engine, id)
    throw new RetomaError(errors.execution_state, { id, status, action })
  }
  throw error
}

function statusAfter({ state, changed }: Applied, read: Status): Status {
  const isAtWork = ['submitting', 'waiting', 'running', 'succeeded', 'completed_with_failures'].includes(state)
  return changed && isAtWork ? 'EM_ANDAMENTO' : read
}

export const actionRoutes = (runs: Runs): readonly Route[] =>
  actions.map(({ path, name, summary, more = {}, errors: besides = [], goesOnFrom, apply }) =>
    route({
      method: 'post',
      path: `/execucoes/{id}/${path}`,
      name,
      tag,
      summary,
      role: 'operator',
      params: idParams,
      ...(goesOnFrom === undefined ? {} : { body: change }),
      answer: z.object({ ...afterwards, ...more }),
      errors: ['not_found', errors.execution_state, 'queue_full', ...besides],
      async run(call) {
        const { engine, params, who } = call
        const model = (call.body as z.output<typeof change>)?.modelo
        const batch = await batchOf(call, runs, params.id)
        // Before the action: every document started afterwards asks the new model.
        if (model !== undefined && goesOnFrom !== undefined)
          await changeModel(engine, runs, params.id, { model, by: who.user, from: goesOnFrom })
        const applied = await apply({ engine, id: params.id, batch, by: { by: who.user } }).catch(error =>
          refused(error, call, path),
        )
        const found = await readHere(engine, params.id)
        const { tentativas_retry, max_retries, modelo } = found
        const counted = { tentativas_retry, max_retries, modelo, simulado: isPlayed(runs, found) }
        return { id: params.id, status: statusAfter(applied, found.status), ...applied.answer, ...counted }
      },
    }),
  )
