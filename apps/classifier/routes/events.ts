/**
 * Streams the events of an execution, in the seed's words. The content and the order are those of the engine's own streams
 * (docs/events.md).
 */
import type { EngineEvent } from 'retoma'
import { eventsQuery, follow, type Route, route, type SseMessage } from 'retoma/http'
import type { Runs } from '../runs.ts'
import { documentStatusOf, statusOf } from '../status.ts'
import { batchOf, idParams, isPlayed, readHere, tag } from './shared.ts'

const actionNames: Readonly<Record<string, string>> = {
  pause: 'pausar',
  resume: 'retomar',
  'retry failed': 'reprocessar-erros',
  cancel: 'cancelar',
  'change model': 'modelo',
  priority: 'prioridade',
  retry: 'reprocessar',
  rerun: 'arquivo',
  skip: 'pular',
}

const status = (state: unknown): unknown => statusOf[state as keyof typeof statusOf] ?? state
const documentStatus = (state: unknown): unknown => documentStatusOf[state as keyof typeof documentStatusOf] ?? state

/** undefined: in these words nothing has changed. */
function toMessage(event: EngineEvent, simulado: boolean): SseMessage | undefined {
  const { type, position: id, at } = event
  const message = (data: object): SseMessage => ({ event: type, id, data: { at: at.toISOString(), ...data, simulado } })
  switch (event.type) {
    case 'state': {
      const { from, to, reason } = event.data
      const [before, after] = [from === null ? null : status(from), status(to)]
      return before === after ? undefined : message({ from: before, to: after, reason })
    }
    case 'item': {
      const { ref, state, attempt, failures = null, reason } = event.data
      return message({ ref, codigo: ref, state: documentStatus(state), attempt, failures, reason })
    }
    case 'action': {
      const { who, what, from = null, to = null, model, model_before: before = null } = event.data
      const changed = model === undefined ? {} : { modelo: model, modelo_anterior: before }
      return message({
        who,
        what: what === 'resume' && from === 'paused' ? 'continuar' : (actionNames[what] ?? what),
        from: status(from),
        to: status(to),
        ...changed,
      })
    }
    case 'progress':
      return message(progressOf(event.data))
    case 'warning':
      return message({ what: event.data.what })
    default:
      return message({})
  }
}

function progressOf({ rate, etaSeconds, ...counts }: Readonly<Record<string, unknown>>) {
  const of = (name: string) => Number(counts[name] ?? 0)
  const total = of('total')
  const ended = of('succeeded') + of('failed') + of('skipped') + of('cancelled')
  const named = {
    total,
    pendentes: of('waiting'),
    processando: of('running') + of('stalled'),
    concluidos: of('succeeded'),
    erros: of('failed'),
    pulados: of('skipped') + of('cancelled'),
    cancelados: of('cancelled'),
    percentual: total === 0 ? 0 : Math.floor((ended * 1000) / total) / 10,
  }
  return { ...named, counts: named, rate, eta_seconds: etaSeconds }
}

export const eventRoutes = (runs: Runs): readonly Route[] => [
  route({
    method: 'get',
    path: '/execucoes/{id}/eventos',
    name: 'followExecution',
    tag,
    summary: 'Streams the events of an execution until its end',
    role: 'viewer',
    params: idParams,
    query: eventsQuery,
    answers: 'text/event-stream',
    errors: ['not_found', 'queue_full'],
    async run(call) {
      const batch = await batchOf(call, runs, call.params.id)
      const simulado = isPlayed(runs, await readHere(call.engine, call.params.id))
      return follow(call, { batch }, event => toMessage(event, simulado), {
        heartbeat: ({ at, idleSeconds }) => ({ at, segundos_sem_progresso: idleSeconds }),
      })
    },
  }),
]
