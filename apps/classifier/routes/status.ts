/** Shows the status of an execution, for a person who decides whether to wait: counts, the last heartbeat, and a sentence of advice. */
import type { Engine, ProviderView } from 'retoma'
import { type Call, clockOf, type Route, route } from 'retoma/http'
import { providerName, providerOf } from '../ask.ts'
import { diagnose, type Stuck, type Trouble, type Waiting } from '../diagnosis.ts'
import { defaultModel } from '../providers/openrouter.ts'
import type { Runs } from '../runs.ts'
import { type Execution, readModel } from '../store/executions.ts'
import { recentErrors } from '../store/results.ts'
import { detailed, detailedWire } from '../wire.ts'
import { executionOf, idParams, tag } from './shared.ts'

const mostRecent = 5
const mostStuck = 20

export const statusRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'get',
    path: '/execucoes/{id}/status-detalhado',
    name: 'getExecutionStatus',
    tag,
    summary:
      'Gets the status in detail: counts, last heartbeat, recent errors, and whether to wait or which action to run',
    role: 'viewer',
    params: idParams,
    answer: detailed,
    errors: ['not_found'],
    async run(call) {
      const execution = await executionOf(call, runs, call.params.id)
      const { diagnostico, travado_motivo } = await diagnosisOf(call, runs, execution)
      return {
        ...detailedWire(execution, runs.isSimulated),
        diagnostico,
        travado_motivo,
        erros_recentes: await recentErrors(call.engine, execution.id, mostRecent),
      }
    },
  }),
]

async function diagnosisOf({ engine, language }: Call, runs: Runs, execution: Execution) {
  const { lote_id: batch, status } = execution
  const isAtWork = status === 'PENDENTE' || status === 'EM_ANDAMENTO'
  const isOver = status === 'CONCLUIDO' || status === 'ERRO'
  const { sentence, stuckBy } = diagnose({
    execution,
    explained: batch === null || !isAtWork ? null : await engine.explain({ batch }, { language }),
    waiting: isAtWork ? await waitingOf(engine, runs, execution) : [],
    troubles: status === 'PAUSADO' ? await troublesOf(engine) : [],
    stuck: batch === null || status !== 'TRAVADO' ? [] : await stuckOf(engine, batch),
    causes: batch === null || !isOver || execution.erros === 0 ? [] : await engine.batches.failures(batch),
    requestsPerMinute: runs.requestsPerMinute,
    now: clockOf(engine).now(),
  })
  return { diagnostico: sentence[language], travado_motivo: stuckBy?.[language] ?? null }
}

/** The providers with a wait for the documents of this execution. */
async function waitingOf(engine: Engine, runs: Runs, { id }: Execution): Promise<Waiting[]> {
  const { kind } = runs.classification.job
  const model = (await readModel(engine, id)) ?? runs.model ?? defaultModel
  const asked = [providerName, providerOf(model)]
  const isOurs = ({ name, state, kinds }: ProviderView) =>
    state === 'waiting' && asked.includes(name) && kinds.includes(kind)
  return (await engine.providers.list())
    .filter(isOurs)
    .map(({ name, waitUntil, message, consecutiveWaits, waitsSince }) => ({
      name,
      model: name === providerName ? null : model,
      until: waitUntil!,
      message,
      times: consecutiveWaits,
      since: waitsSince,
    }))
}

async function troublesOf(engine: Engine): Promise<Trouble[]> {
  return (await engine.providers.list()).flatMap(({ name, probeError }) =>
    probeError === null ? [] : [{ name, message: probeError }],
  )
}

async function stuckOf(engine: Engine, batch: string): Promise<Stuck[]> {
  const { items } = await engine.batches.items(batch, { state: 'stalled', limit: mostStuck })
  return items.map(({ ref, checkpoint, worker }) => ({ code: ref, step: checkpoint, worker }))
}
