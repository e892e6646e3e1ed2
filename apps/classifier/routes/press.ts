/**
 * What is pressed on an execution, by the contract's table of verbs and states: safe to press twice and by many at once, because
 * each is one verb of the engine; what is in no state for it is 409 with the code.
 *
 * An execution that goes on is EM_ANDAMENTO, also when the worker was so quick that it is over by the time this is answered.
 */
import { type BatchState, type Engine, type ErrorName, isRetomaError, RetomaError, say } from 'retoma'
import { type Call, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from '../errors.ts'
import type { Runs } from '../runs.ts'
import type { Status } from '../status.ts'
import { allowAgain, noteStarted } from '../store/runs.ts'
import { count, status } from '../wire.ts'
import { batchOf, idParams, readHere, tag } from './shared.ts'

const afterwards = { id: z.string(), status, tentativas_retry: count, max_retries: count }

interface On {
  engine: Engine
  id: string
  batch: string
  by: { by: string }
}

/** What the engine answered, and what of it is told. */
interface Pressed {
  state: BatchState
  changed: boolean
  told?: Record<string, number>
}

interface Verb {
  path: string
  name: string
  summary: string
  /** What it answers besides. */
  more?: z.ZodRawShape
  errors?: readonly ErrorName[]
  press(on: On): Promise<Pressed>
}

const verbs: readonly Verb[] = [
  {
    path: 'retomar',
    name: 'resumeExecution',
    summary: 'One that is TRAVADO goes on where it stopped, and the resume is counted',
    more: { retomados: count.meta({ description: 'documents that are not final and go on' }) },
    errors: [errors.execution_paused, 'resumes_spent'],
    async press({ engine, id, batch, by }) {
      await noteStarted(engine, id, ['TRAVADO'])
      const { resumed, ...pressed } = (await engine.resume(batch, by)) as Pressed & { resumed: number }
      return { ...pressed, told: { retomados: resumed } }
    },
  },
  {
    path: 'reprocessar-erros',
    name: 'retryDocumentErrors',
    summary: 'Its documents with an error run again with new tries; what was bought for them is not bought again',
    more: { reprocessados: count.meta({ description: 'documents that wait again' }) },
    async press({ engine, id, batch, by }) {
      await noteStarted(engine, id, ['TRAVADO', 'ERRO', 'CONCLUIDO'])
      const { retried, ...pressed } = await engine.retryFailed(batch, by)
      return { ...pressed, told: { reprocessados: retried } }
    },
  },
  {
    path: 'pausar',
    name: 'pauseExecution',
    summary: 'Nothing more of it starts; what runs goes on to its end',
    press: ({ engine, batch, by }) => engine.pause(batch, by),
  },
  {
    path: 'continuar',
    name: 'continueExecution',
    summary: 'One that is PAUSADO goes on; where its cost limit paused it, it may cost as much again',
    async press({ engine, id, batch, by }) {
      await allowAgain(engine, id)
      await noteStarted(engine, id, ['PAUSADO'])
      return engine.unpause(batch, by)
    },
  },
  {
    path: 'cancelar',
    name: 'cancelExecution',
    summary: 'It is cancelled at once; documents that are done keep their results',
    press: ({ engine, batch, by }) => engine.cancel(batch, by) as Promise<Pressed>,
  },
]

/** In the words of the execution. `status`: read anew, for what was pressed meanwhile decided. */
async function refused(error: unknown, call: Call<{ id: string }>, verb: string): Promise<never> {
  const { id } = call.params
  if (isRetomaError(error, 'batch_paused')) throw new RetomaError(errors.execution_paused, { id })
  if (isRetomaError(error, 'resumes_spent'))
    throw new RetomaError('resumes_spent', { what: say('execution', 'a execução'), id, resumes: error.facts.resumes! })
  if (isRetomaError(error, 'batch_cancelled') || isRetomaError(error, 'batch_state')) {
    const { status } = await readHere(call.engine, id)
    throw new RetomaError(errors.execution_state, { id, status, verb })
  }
  throw error
}

function statusAfter({ state, changed }: Pressed, read: Status): Status {
  const isAtWork = ['submitting', 'waiting', 'running', 'succeeded'].includes(state)
  return changed && isAtWork ? 'EM_ANDAMENTO' : read
}

export const pressRoutes = (runs: Runs): readonly Route[] =>
  verbs.map(({ path, name, summary, more = {}, errors: besides = [], press }) =>
    route({
      method: 'post',
      path: `/execucoes/{id}/${path}`,
      name,
      tag,
      summary,
      role: 'operator',
      params: idParams,
      answer: z.object({ ...afterwards, ...more }),
      errors: ['not_found', errors.execution_state, 'queue_full', ...besides],
      async run(call) {
        const { engine, params, who } = call
        const batch = await batchOf(call, runs, params.id)
        const pressed = await press({ engine, id: params.id, batch, by: { by: who.user } }).catch(error =>
          refused(error, call, path),
        )
        const { status: read, tentativas_retry, max_retries } = await readHere(engine, params.id)
        return { id: params.id, status: statusAfter(pressed, read), ...pressed.told, tentativas_retry, max_retries }
      },
    }),
  )
