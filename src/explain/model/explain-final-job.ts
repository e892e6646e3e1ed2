/** Explains a job in a final state or `stalled`: the error, and the possible actions. */
import { localized } from '../../errors/errors.ts'
import type { ErrorFacts, JobFacts } from './explain-facts.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { append, explained, message, nothing, nothingToDo, quoted, since } from './sentence-parts.ts'

export function explainFinalJob(
  job: JobFacts,
  state: 'succeeded' | 'failed' | 'skipped' | 'cancelled',
): LocalizedExplanation {
  const { id, now } = job
  const ago = since(job.finishedAt ?? now, now)
  switch (state) {
    case 'succeeded':
      return explained(
        'ok',
        localized(
          `job ${id} succeeded ${ago} ago, at attempt ${job.attempt}`,
          `o job ${id} terminou com sucesso há ${ago}, na tentativa ${job.attempt}`,
        ),
        'nothing',
        nothingToDo,
      )
    case 'skipped':
      return explained(
        'skipped',
        append(
          localized(`job ${id} was skipped ${ago} ago`, `o job ${id} foi pulado há ${ago}`),
          job.error === null
            ? nothing
            : localized(`: ${message(job.error.message)}`, `: ${message(job.error.message)}`),
        ),
        'nothing',
        nothingToDo,
      )
    case 'cancelled':
      return explained(
        'cancelled',
        localized(
          `job ${id} was cancelled ${ago} ago and does not run any more`,
          `o job ${id} foi cancelado há ${ago} e não roda mais`,
        ),
        'nothing',
        job.batch?.state === 'cancelled'
          ? nothingToDo
          : localized('nothing to do, unless it shall run after all', 'nada a fazer, a não ser que deva rodar afinal'),
        job.batch?.state === 'cancelled' ? null : `retoma jobs retry ${id}`,
      )
    case 'failed':
      return explainFailed(job, ago)
    default:
      return state satisfies never
  }
}

function explainFailed(job: JobFacts, ago: string): LocalizedExplanation {
  const { id, error, batch } = job
  const why = error === null ? '' : errorText(error)
  if (batch !== null && (error?.code === 'resumes_spent' || error?.code === 'batch_stalled'))
    return explained(
      'failed',
      localized(
        `job ${id} did not end before its batch ${batch.id} failed, and failed with it ${ago} ago`,
        `o job ${id} não terminou antes de o lote ${batch.id} falhar, e falhou com ele há ${ago}`,
      ),
      'retry_failed',
      localized('run the failed items of the batch again', 'rode de novo os itens do lote que falharam'),
      `retoma batch retry-failed ${batch.id}`,
    )
  if (isPoison(job))
    return explained(
      'poison',
      localized(
        `job ${id} was stopped ${ago} ago as poison, after ${crashes(job.crashes).en}: ${why}`,
        `o job ${id} foi parado há ${ago} como veneno, depois de ${crashes(job.crashes).pt}: ${why}`,
      ),
      'look_at_failures',
      localized(
        'look at the evidence of each crash and mend the code or the input before the job runs again',
        'veja o que cada morte deixou e corrija o código ou a entrada antes de rodar de novo',
      ),
      `retoma jobs show ${id}`,
    )
  const tries = job.failures + job.crashes
  const { maxAttempts } = job.policy
  const sentence = localized(
    `job ${id} failed for good ${ago} ago, after ${tries} of ${maxAttempts} ${maxAttempts === 1 ? 'try' : 'tries'}: ${why}`,
    `o job ${id} falhou de vez há ${ago}, depois de ${tries} de ${maxAttempts} ${maxAttempts === 1 ? 'tentativa' : 'tentativas'}: ${why}`,
  )
  // No job of a cancelled batch runs again.
  if (batch?.state === 'cancelled')
    return explained(
      'failed',
      sentence,
      'look_at_failures',
      localized('its batch is cancelled: it does not run again', 'o lote foi cancelado: ele não roda de novo'),
      `retoma jobs show ${id}`,
    )
  return explained(
    'failed',
    sentence,
    'retry',
    localized(
      'mend what it failed of, then run it again; it goes on after its last step',
      'corrija a causa e rode de novo; continua depois da última etapa',
    ),
    `retoma jobs retry ${id}`,
  )
}

/** Strips the code from an error of ours, because a sentence reads better without the code. */
const errorText = ({ code, message: text }: ErrorFacts): string =>
  message(code !== null && text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text)

const isPoison = ({ error, crashes, policy }: JobFacts): boolean =>
  error?.type === 'poison' || error?.code === 'poison' || (error?.type === 'crash' && crashes >= policy.maxCrashes)

const crashes = (n: number) =>
  n === 1
    ? localized('1 crash of its process', '1 queda do seu processo')
    : localized(`${n} crashes of its process`, `${n} quedas do seu processo`)

export function explainStalled(job: JobFacts): LocalizedExplanation {
  const { id, batch, error, lastFailure, now } = job
  if (batch?.state === 'stalled')
    return explained(
      'stalled',
      localized(
        `job ${id} stands with its batch ${batch.id}, which is stalled and waits for a person`,
        `o job ${id} está parado com o lote ${batch.id}, que travou e espera por uma pessoa`,
      ),
      'resume',
      localized(
        'resume the batch; what it has saved is not run again',
        'retome o lote; o que já salvou não roda de novo',
      ),
      `retoma batch resume ${batch.id}`,
    )
  const why = error ?? lastFailure
  const when =
    lastFailure === null
      ? nothing
      : localized(` ${since(lastFailure.at, now)} ago`, ` há ${since(lastFailure.at, now)}`)
  const reason = why === null ? nothing : localized(`: ${errorText(why)}`, `: ${errorText(why)}`)
  const { restartsWithoutProgress: restarts } = job.crashSuspicion
  const restartsWithoutProgress =
    restarts === 0 || why?.code === 'too_many_restarts'
      ? nothing
      : restarts === 1
        ? localized(' (1 restart without a step of progress)', ' (1 reinício sem uma etapa de avanço)')
        : localized(
            ` (${restarts} restarts in a row without a step of progress)`,
            ` (${restarts} reinícios seguidos sem uma etapa de avanço)`,
          )
  const after =
    job.checkpoint === null
      ? nothing
      : localized(` after its step ${quoted(job.checkpoint)}`, ` depois da etapa ${quoted(job.checkpoint)}`)
  return explained(
    'stalled',
    append(
      localized(`job ${id} stalled`, `o job ${id} travou`),
      when,
      localized(' and waits for a person', ' e espera por uma pessoa'),
      reason,
      restartsWithoutProgress,
    ),
    'resume',
    append(localized('resume it; it goes on', 'retome; ele continua'), after),
    `retoma jobs retry ${id}`,
  )
}
