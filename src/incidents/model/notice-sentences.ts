/** Builds the sentences of notices, in both languages: the event and the advice. */

import type { BatchAbout } from '../../batches/model/batch-display.ts'
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { IncidentEvent } from './notice.ts'

/** Facts of an incident; each event has other facts. */
export interface IncidentFacts {
  batch?: string
  name?: string
  about?: BatchAbout
  total?: number
  succeeded?: number
  failed?: number
  skipped?: number
  cancelled?: number
  /** Reason of a paused, stalled or failed batch. */
  reason?: { code?: string; [more: string]: unknown } | null
  job?: string
  kind?: string
  queue?: string
  message?: string
  kinds?: string[]
  jobs?: number
  no_worker?: boolean
  stuck?: number
  seconds?: number
  more?: number
  host?: string
  pid?: number
  provider?: string
  /** End of the wait of a provider. */
  until?: string
  guard?: string
  error?: { en?: string; pt?: string }
}

const batchIn = ({ name, batch, about }: IncidentFacts): LocalizedText =>
  localized(`Batch ${batch} (${about?.label.en ?? name})`, `O lote ${batch} (${about?.label.pt ?? name})`)
const ended = ({ succeeded = 0, failed = 0, skipped = 0, cancelled = 0 }: IncidentFacts): number =>
  succeeded + failed + skipped + cancelled
const far = (facts: IncidentFacts): string => `${ended(facts)}/${facts.total ?? 0}`
const join = (parts: readonly LocalizedText[]): LocalizedText =>
  localized(parts.map(each => each.en).join(''), parts.map(each => each.pt).join(''))

export function sentenceOf(event: IncidentEvent, facts: IncidentFacts): LocalizedText {
  switch (event) {
    case 'batch.stalled':
      return join([batchIn(facts), stalled(facts)])
    case 'batch.failed':
      return join([
        batchIn(facts),
        localized(` has failed at ${far(facts)}: `, ` falhou em ${far(facts)}: `),
        facts.reason?.code === 'resumes_spent'
          ? localized('it stalled again, and its resumes are spent.', 'travou outra vez, e as retomadas se esgotaram.')
          : localized('nothing of it has ended for too long.', 'há tempo demais nada dele terminava.'),
        localized(
          ' What is done stays done; retry-failed runs the rest again.',
          ' O que terminou fica; reprocessar os erros roda o resto de novo.',
        ),
      ])
    case 'batch.succeeded':
    case 'batch.completed_with_failures':
      return join([batchIn(facts), succeeded(facts)])
    case 'batch.paused':
      return join([
        batchIn(facts),
        localized(` is paused at ${far(facts)}: `, ` está pausado em ${far(facts)}: `),
        why(facts),
      ])
    case 'job.poison':
      return localized(
        `Job ${facts.job} (${facts.kind}) killed its process again and again and has failed; it is not run again by itself. Last: ${facts.message}`,
        `O job ${facts.job} (${facts.kind}) derrubou seu processo várias vezes e falhou; ele não roda de novo sozinho. Último erro: ${facts.message}`,
      )
    case 'queue.starved':
      return starved(facts)
    case 'jobs.stuck':
      return localized(
        `${facts.stuck} jobs are stuck and wait for a person; more than 10 is too many.`,
        `${facts.stuck} jobs estão travados e esperam por alguém; mais de 10 é demais.`,
      )
    case 'watchdog.late':
      return localized(
        `No watchdog has checked for ${facts.seconds} s: stuck jobs are not found. See the log of the processes, and the database.`,
        `Nenhum watchdog verifica há ${facts.seconds} s: o que travar agora não é achado. Veja o log dos processos e o banco.`,
      )
  }
}

export function sentenceOfEnd(event: IncidentEvent, facts: IncidentFacts): LocalizedText {
  switch (event) {
    case 'batch.stalled':
      return join([batchIn(facts), localized(' is not stalled any more.', ' não está mais travado.')])
    case 'batch.failed':
    case 'batch.succeeded':
    case 'batch.completed_with_failures':
      return join([batchIn(facts), localized(' runs again.', ' voltou a rodar.')])
    case 'batch.paused':
      return join([batchIn(facts), localized(' is not paused any more.', ' não está mais pausado.')])
    case 'job.poison':
      return localized(
        `Job ${facts.job} (${facts.kind}) runs again.`,
        `O job ${facts.job} (${facts.kind}) foi posto para rodar de novo.`,
      )
    case 'queue.starved':
      return localized(`Queue ${facts.queue} is taken again.`, `A fila ${facts.queue} voltou a ser atendida.`)
    case 'jobs.stuck':
      return localized('No more than 10 jobs are stuck now.', 'Não há mais de 10 jobs travados agora.')
    case 'watchdog.late':
      return localized('A watchdog checks again.', 'Um watchdog voltou a verificar.')
  }
}

export const sentenceOfMany = (event: IncidentEvent, more: number): LocalizedText =>
  localized(
    `${more} more of the same (${event}); for ten minutes these get no notice of their own.`,
    `Mais ${more} do mesmo tipo (${event}); por dez minutos estes não são avisados um a um.`,
  )

function stalled(facts: IncidentFacts): LocalizedText {
  if (facts.reason?.code === 'no_worker')
    return localized(
      ` is stalled at ${far(facts)}: no worker is alive that takes it. Start one, then resume it.`,
      ` está travado em ${far(facts)}: não há worker vivo que o atenda. Inicie um e retome.`,
    )
  return localized(
    ` is stalled at ${far(facts)}: nothing of it has ended for too long. See why, then resume it.`,
    ` está travado em ${far(facts)}: há tempo demais nada dele termina. Veja por quê e retome.`,
  )
}

function succeeded({ total = 0, failed = 0, cancelled = 0 }: IncidentFacts): LocalizedText {
  if (cancelled > 0)
    return localized(
      ` is done: ${failed} of ${total} failed, ${cancelled} cancelled.`,
      ` foi concluído: ${failed} de ${total} com erro, ${cancelled} ${cancelled === 1 ? 'cancelado' : 'cancelados'}.`,
    )
  if (failed === 0) return localized(` is done: ${total} of ${total}.`, ` foi concluído: ${total} de ${total}.`)
  return localized(
    ` is done with errors: ${failed} of ${total} failed.`,
    ` foi concluído com erros: ${failed} de ${total}.`,
  )
}

/** `stop_after` is a reason of the engine; a provider stop has the message of the provider. */
function why({ reason }: IncidentFacts): LocalizedText {
  if (reason?.code === 'person')
    return localized(
      'a person paused it. It goes on when you resume it.',
      'uma pessoa pausou. Ele segue quando você mandar continuar.',
    )
  if (reason?.code === 'stop_after')
    return localized(
      `${reason.failed} of ${reason.ended} ${reason.failed === 1 ? 'has' : 'have'} failed, more than may. See the failures, then resume or cancel it.`,
      `${reason.failed} de ${reason.ended} ${reason.failed === 1 ? 'falhou' : 'falharam'}, mais do que o permitido. Veja os erros e então continue ou cancele.`,
    )
  const words = typeof reason?.message === 'string' ? reason.message : (reason?.code ?? '?')
  if (reason?.code === 'same_cause')
    return localized(
      `${reason.items} in a row failed the same way: ${words}. One a minute tries; it goes on when that does not fail, or when you resume it.`,
      `${reason.items} seguidos falharam do mesmo modo: ${words}. Um por minuto tenta de novo; ele segue quando não falhar, ou quando você mandar continuar.`,
    )
  if (typeof reason?.provider === 'string')
    return localized(
      `${reason.provider}: ${words}. It goes on when that answers again, or when you resume it.`,
      `${reason.provider}: ${words}. Ele segue quando o provedor voltar a responder, ou quando você mandar continuar.`,
    )
  return localized(`${words}. It goes on when you resume it.`, `${words}. Ele segue quando você mandar continuar.`)
}

function starved({ queue, kinds = [], jobs, no_worker: noWorker }: IncidentFacts): LocalizedText {
  const which = kinds.slice(0, 5).join(', ')
  const ready =
    jobs === 1
      ? localized('1 job is ready', '1 job pronto')
      : localized(`${jobs} jobs are ready`, `${jobs} jobs prontos`)
  if (noWorker)
    return localized(
      `Queue ${queue}: ${ready.en} (${which}), and no worker is alive that takes this queue. Start one.`,
      `Fila ${queue}: ${ready.pt} (${which}), e nenhum worker vivo atende essa fila. Inicie um.`,
    )
  return localized(
    `Queue ${queue}: ${ready.en}, and no live worker has the code of ${which}. Deploy it, or start a worker that has it.`,
    `Fila ${queue}: ${ready.pt}, e nenhum worker vivo tem o código de ${which}. Publique-o, ou inicie um worker que o tenha.`,
  )
}
