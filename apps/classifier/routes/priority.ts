/** Changes the priority of an execution: its waiting documents move at once, running documents continue. */
import { isRetomaError, RetomaError } from 'retoma'
import { type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from '../errors.ts'
import type { Runs } from '../runs.ts'
import { execution, executionWire, prioridade } from '../wire.ts'
import { batchOf, idParams, readHere, tag } from './shared.ts'

export const priorityRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'patch',
    path: '/execucoes/{id}',
    name: 'changeExecution',
    tag,
    summary: 'Changes the priority of an unfinished execution: 0 is first; executions of the same priority take turns',
    role: 'operator',
    params: idParams,
    body: z.strictObject({ prioridade }),
    answer: execution,
    errors: ['not_found', errors.execution_state, 'queue_full'],
    async run(call) {
      const { engine, params, body, who } = call
      const batch = await batchOf(call, runs, params.id)
      await engine.batches.setPriority(batch, body.prioridade, { by: who.user }).catch(async error => {
        if (!isRetomaError(error, 'batch_cancelled') && !isRetomaError(error, 'batch_state')) throw error
        const { status } = await readHere(engine, params.id)
        throw new RetomaError(errors.execution_state, { id: params.id, status, action: 'PATCH' })
      })
      return executionWire(await readHere(engine, params.id), runs.isSimulated)
    },
  }),
]
