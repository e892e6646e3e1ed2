/** Explains a batch by its state: speed and remaining time, or the obstacle. explain-active-batch.ts explains a running batch. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { explainActiveBatch } from './explain-active-batch.ts'
import type { BatchFacts } from './explain-facts.ts'
import { lastProbeError } from './explain-provider.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { comingIn, nextCheck, noWatchdog } from './next-watchdog-check.ts'
import { append, counted, explained, message, nothing, nothingToDo, quoted, since, wait } from './sentence-parts.ts'

export function explainBatch(batch: BatchFacts): LocalizedExplanation {
  switch (batch.state) {
    case 'submitting':
      return submitting(batch)
    case 'paused':
      return paused(batch)
    case 'stalled':
      return stalled(batch)
    case 'succeeded':
    case 'completed_with_failures':
      return over(batch)
    case 'failed':
      return failed(batch)
    case 'cancelled':
      return cancelled(batch)
    default:
      return explainActiveBatch(batch)
  }
}

/** Without new items for so long, the submitting process may be dead. */
const quietMs = 60_000

function submitting(batch: BatchFacts): LocalizedExplanation {
  const { id, now, total } = batch
  const last = batch.takenAt ?? batch.createdAt
  const ago = since(last, now)
  const far =
    total === 0
      ? localized(
          `batch ${id} is being submitted, without an item for ${ago}`,
          `o lote ${id} está sendo enviado, há ${ago} sem nenhum item`,
        )
      : localized(
          `batch ${id} is being submitted: ${items(total).en} so far, the last ${ago} ago`,
          `o lote ${id} está sendo enviado: ${items(total).pt} até agora, o último há ${ago}`,
        )
  if (now.getTime() - last.getTime() <= quietMs) return explained('ok', far, 'wait', wait)
  const broke = localized(
    '; the process that submits it may have died, and the batch ends only after its list is complete',
    '; quem o envia pode ter morrido, e enquanto a lista não acabar ele não termina',
  )
  return batch.key === null
    ? explained(
        'waiting',
        append(far, broke),
        'submit_again',
        localized(
          'if it broke off: it has no key, so cancel it and submit the list anew',
          'se foi interrompido: sem chave não dá para continuar; cancele e envie a lista de novo',
        ),
        `retoma batch cancel ${id}`,
      )
    : explained(
        'waiting',
        append(far, broke),
        'submit_again',
        localized(
          'if it broke off: submit the same list with the same key, and it goes on from there',
          'se foi interrompido: envie a mesma lista com a mesma chave, e ele continua dali',
        ),
      )
}

function paused(batch: BatchFacts): LocalizedExplanation {
  const { id, reason, running } = batch
  const why = (() => {
    if (reason?.code === 'stop_after')
      return localized(
        `was paused by its stopAfter: ${counted(Number(reason.failed)).en} of the ${items(Number(reason.ended)).en} that ended had failed`,
        `foi pausado por seu stopAfter: ${counted(Number(reason.failed)).pt} de ${items(Number(reason.ended)).pt} ${reason.ended === 1 ? 'encerrado' : 'encerrados'} ${reason.failed === 1 ? 'tinha' : 'tinham'} falhado`,
      )
    if (reason === null || reason.code === 'person')
      return localized('was paused by a person', 'foi pausado por uma pessoa')
    if (reason.code === 'same_cause') {
      const words = message(typeof reason.message === 'string' ? reason.message : '')
      const many = items(Number(reason.items))
      return localized(
        `was paused because ${many.en} in a row failed the same way: ${words}; one item a minute tries, and it goes on by itself once that does not fail`,
        `foi pausado porque ${many.pt} seguidos falharam do mesmo modo: ${words}; um item por minuto tenta de novo, e o lote continua sozinho quando não falhar`,
      )
    }
    if (typeof reason.provider === 'string') {
      const words = message(typeof reason.message === 'string' ? reason.message : '')
      const last = batch.provider?.name === reason.provider ? lastProbeError(batch.provider) : nothing
      return localized(
        `was paused because provider ${quoted(reason.provider)} has stopped: ${words}${last.en}; one item a minute asks it again, and it goes on by itself once that is answered`,
        `foi pausado porque o provedor ${quoted(reason.provider)} parou: ${words}${last.pt}; um item por minuto o consulta, e o lote continua sozinho quando houver resposta`,
      )
    }
    const what = message(typeof reason.message === 'string' ? reason.message : reason.code)
    return localized(`was paused: ${what}`, `foi pausado: ${what}`)
  })()
  const stillRuns =
    running === 0
      ? nothing
      : running === 1
        ? localized('; 1 item still runs to its end', '; 1 item ainda roda até o fim')
        : localized(`; ${items(running).en} still run to their end`, `; ${items(running).pt} ainda rodam até o fim`)
  return explained(
    'paused',
    append(localized(`batch ${id} `, `o lote ${id} `), why, stillRuns),
    'resume',
    reason?.code === 'stop_after' || reason?.code === 'same_cause'
      ? localized('look at what failed; then resume it', 'veja o que falhou; depois retome')
      : typeof reason?.provider === 'string'
        ? localized(
            'see to the provider, then resume it: it is asked at once (for all batches: retoma providers clear)',
            'resolva com o provedor e então retome: ele é consultado na hora (para todos os lotes: retoma providers clear)',
          )
        : localized('resume it when it is time', 'retome quando for a hora'),
    `retoma batch resume ${id}`,
  )
}

const stallReasons: Readonly<Record<string, LocalizedText>> = {
  no_progress: localized('no item of it ended for too long', 'nenhum item terminou por tempo demais'),
  no_worker: localized('no worker was alive', 'nenhum worker estava vivo'),
}

function stalled(batch: BatchFacts): LocalizedExplanation {
  const { id, reason, resumes, maxResumes, progressAt, now } = batch
  const left = maxResumes - resumes
  const known = stallReasons[reason?.code ?? 'no_progress']
  const why = known ?? localized(message(String(reason?.code)), message(String(reason?.code)))
  const last =
    progressAt === null
      ? nothing
      : localized(`, the last ${since(progressAt, now)} ago`, `, o último há ${since(progressAt, now)}`)
  return explained(
    'stalled',
    append(
      localized(`batch ${id} is stalled and waits for a person: `, `o lote ${id} travou e espera por uma pessoa: `),
      why,
      last,
      left > 0
        ? localized(
            `; ${left} of ${maxResumes} ${maxResumes === 1 ? 'resume' : 'resumes'} ${left === 1 ? 'is' : 'are'} left`,
            `; ${left === 1 ? 'resta' : 'restam'} ${left} de ${maxResumes} ${maxResumes === 1 ? 'retomada' : 'retomadas'}`,
          )
        : localized('; the next stall after this one fails it', '; se travar mais uma vez, falha'),
    ),
    'resume',
    localized('resume it; what has ended stays, the rest goes on', 'retome; o que terminou fica, o resto continua'),
    `retoma batch resume ${id}`,
  )
}

function over(batch: BatchFacts): LocalizedExplanation {
  const { id, now, total, failed, cancelled, finishedAt, following } = batch
  const ago = since(finishedAt ?? now, now)
  if (following) return retryUnderWay(batch)
  if (total === 0)
    return explained(
      'ok',
      localized(`batch ${id} is over: it had no items`, `o lote ${id} terminou: não tinha itens`),
      'nothing',
      nothingToDo,
    )
  if (failed === 0 && cancelled > 0)
    return explained(
      'cancelled',
      localized(
        `batch ${id} has been over for ${ago}: none of its items failed, ${cancelledItems(cancelled).en}`,
        `o lote ${id} terminou há ${ago}: nenhum item falhou, ${cancelledItems(cancelled).pt}`,
      ),
      'nothing',
      nothingToDo,
    )
  if (failed === 0)
    return explained(
      'ok',
      total === 1
        ? localized(
            `batch ${id} has been over for ${ago}: its only item has ended, and did not fail`,
            `o lote ${id} terminou há ${ago}: o único item foi encerrado, sem falha`,
          )
        : localized(
            `batch ${id} has been over for ${ago}: each of its ${items(total).en} has ended, none failed`,
            `o lote ${id} terminou há ${ago}: ${items(total).pt} encerrados, nenhum falhou`,
          ),
      'nothing',
      nothingToDo,
    )
  return explained(
    'failed',
    localized(
      `batch ${id} has been over for ${ago}: ${counted(failed).en} of its ${items(total).en} failed${cancelled === 0 ? '' : `, ${cancelledItems(cancelled).en}`}`,
      `o lote ${id} terminou há ${ago}: ${counted(failed).pt} de ${items(total).pt} ${failed === 1 ? 'falhou' : 'falharam'}${cancelled === 0 ? '' : `, ${cancelledItems(cancelled).pt}`}`,
    ),
    'retry_failed',
    localized(
      `look at what failed (retoma batch failures ${id}), then run those again`,
      `veja o que falhou (retoma batch failures ${id}) e rode esses de novo`,
    ),
    `retoma batch retry-failed ${id}`,
  )
}

/** A person ran `retry failed`, and the cascade is under way. */
function retryUnderWay(batch: BatchFacts): LocalizedExplanation {
  const { id, watch, now } = batch
  const coming = nextCheck(watch, now)
  return explained(
    'waiting',
    append(
      localized(
        `batch ${id} goes on: its failed items are being set to waiting`,
        `o lote ${id} continua: seus itens com falha estão voltando a esperar`,
      ),
      noWatchdog(watch, coming, now),
    ),
    'wait',
    wait,
  )
}

function failed(batch: BatchFacts): LocalizedExplanation {
  const { id, reason, resumes, now, finishedAt } = batch
  const ago = since(finishedAt ?? now, now)
  // Another reason means: the policy fails the batch at the first stall.
  const why =
    (reason?.code === 'resumes_spent' ? undefined : stallReasons[reason?.code ?? '']) ??
    localized(
      `it stalled again after ${resumes === 1 ? '1 resume' : `${resumes} resumes`}`,
      `travou de novo depois de ${resumes === 1 ? '1 retomada' : `${resumes} retomadas`}`,
    )
  return explained(
    'failed',
    append(
      localized(
        `batch ${id} failed ${ago} ago: ${why.en}, and what had not ended failed with it`,
        `o lote ${id} falhou há ${ago}: ${why.pt}, e o que não tinha terminado falhou junto`,
      ),
      rowsFollow(batch),
    ),
    'retry_failed',
    localized(
      'run its failed items again; it gets new resumes',
      'rode de novo os itens que falharam; ele ganha novas retomadas',
    ),
    `retoma batch retry-failed ${id}`,
  )
}

function cancelled(batch: BatchFacts): LocalizedExplanation {
  const { id, now, finishedAt, following } = batch
  const ago = since(finishedAt ?? now, now)
  return explained(
    'cancelled',
    append(
      localized(`batch ${id} was cancelled ${ago} ago`, `o lote ${id} foi cancelado há ${ago}`),
      following ? rowsFollow(batch) : localized(' and nothing of it runs any more', ' e nada dele roda mais'),
    ),
    following ? 'wait' : 'nothing',
    following ? wait : nothingToDo,
  )
}

function rowsFollow(batch: BatchFacts): LocalizedText {
  if (!batch.following) return nothing
  const coming = nextCheck(batch.watch, batch.now)
  return append(
    localized(
      `; the last of its items follow${coming.late ? '' : ` ${comingIn(coming).en}`}`,
      `; os últimos itens seguem${coming.late ? '' : ` ${comingIn(coming).pt}`}`,
    ),
    noWatchdog(batch.watch, coming, batch.now),
  )
}

const cancelledItems = (n: number): LocalizedText =>
  n === 1
    ? localized('1 was cancelled', '1 foi cancelado')
    : localized(`${counted(n).en} were cancelled`, `${counted(n).pt} foram cancelados`)

const items = (n: number): LocalizedText =>
  n === 1 ? localized('1 item', '1 item') : localized(`${counted(n).en} items`, `${counted(n).pt} itens`)
