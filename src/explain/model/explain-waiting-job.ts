/**
 * Explains why a waiting job does not run. The order of the reasons: a person must act, no eligible worker lives, the reason
 * passes without action. The first true reason is the verdict; a later due time is added to the sentence.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { JobFacts, ProviderFacts } from './explain-facts.ts'
import { bringing, startWorker, whyNoWorker } from './explain-no-worker.ts'
import { besidesProvider, waitFor, whyProvider, withShortMessages } from './explain-provider.ts'
import { explainReadyJob } from './explain-ready-job.ts'
import { pastMaxAge, pastMaxWait } from './explain-time-limits.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { comingIn, nextCheck, noWatchdog, startWatchdog } from './next-watchdog-check.ts'
import { append, explained, message, nothing, queueIsPaused, quoted, since, until, wait } from './sentence-parts.ts'

export function explainWaiting(job: JobFacts): LocalizedExplanation {
  const { id, queue, now } = job
  const overdue = pastMaxAge(job)
  if (overdue !== undefined) return overdue
  const paused = ofItsBatch(job)
  if (paused !== undefined) return paused
  if (job.queuePaused) return queueIsPaused(localized(`job ${id}`, `o job ${id}`), queue, notDue(job))
  const unclaimed = pastMaxWait(job)
  if (unclaimed !== undefined) return unclaimed
  const nobody = whyNoWorker(job, job.eligibleWorkers)
  const { text, command } = startWorker(job, job.eligibleWorkers)
  if (job.provider !== null && job.runAt <= now && nobody === undefined) return deferred(job, job.provider)
  if (job.runAt > now) {
    const provider = nobody === undefined || job.provider === null ? job.provider : withShortMessages(job.provider)
    const sentence = append(localized(`job ${id} `, `o job ${id} `), untilDue({ ...job, provider }))
    if (nobody === undefined && isForProvider(job))
      return explained('waiting', sentence, ...waitFor(job.provider!, now))
    if (nobody === undefined) return explained('waiting', sentence, 'wait', wait)
    const besides = localized(`; and at present ${nobody.en}`, `; e no momento ${nobody.pt}`)
    return explained('waiting', append(sentence, besides), bringing(job.eligibleWorkers), text, command)
  }
  if (nobody !== undefined)
    return explained(
      'starved',
      localized(
        `job ${id} has been ready for ${since(job.runAt, now)} and nobody takes it: ${nobody.en}`,
        `o job ${id} está pronto há ${since(job.runAt, now)} e ninguém o pega: ${nobody.pt}`,
      ),
      bringing(job.eligibleWorkers),
      text,
      command,
    )
  const ready = explainReadyJob(job)
  return { ...ready, sentence: append(ready.sentence, othersWait(job)) }
}

/** The job may use the same provider as the other jobs of its kind, and may use another. */
function othersWait({ providerOfKind, now }: JobFacts): LocalizedText {
  if (providerOfKind === null) return nothing
  const why = whyProvider(withShortMessages(providerOfKind), now)
  return localized(`; other jobs of its kind wait: ${why.en}`, `; outros jobs do mesmo tipo esperam: ${why.pt}`)
}

/** The job is ready, but the next attempt would end with a deferral at once. */
function deferred({ id, now }: JobFacts, provider: ProviderFacts): LocalizedExplanation {
  const why = whyProvider(provider, now)
  return explained(
    'waiting',
    localized(`job ${id} waits: ${why.en}`, `o job ${id} espera: ${why.pt}`),
    ...waitFor(provider, now),
  )
}

function ofItsBatch(job: JobFacts): LocalizedExplanation | undefined {
  const { id, batch } = job
  if (batch === null || !batch.claimsBlocked) return undefined
  switch (batch.state) {
    case 'paused':
      return explained(
        'paused',
        append(
          localized(
            `job ${id} waits because its batch ${batch.id} is paused`,
            `o job ${id} espera porque o lote ${batch.id} está pausado`,
          ),
          batch.reason?.code === 'provider' ? besidesProvider(job.provider, job.now) : nothing,
          notDue(job),
        ),
        'resume',
        localized('resume the batch when it is time', 'retome o lote quando for a hora'),
        `retoma batch resume ${batch.id}`,
      )
    case 'stalled':
      return explained(
        'stalled',
        localized(
          `job ${id} waits because its batch ${batch.id} is stalled and waits for a person`,
          `o job ${id} espera porque o lote ${batch.id} travou e espera por uma pessoa`,
        ),
        'resume',
        localized('resume the batch', 'retome o lote'),
        `retoma batch resume ${batch.id}`,
      )
    default:
      return follows(job, batch.state === 'cancelled')
  }
}

/** The batch is final, and the cascade has not reached the job; every watchdog runs chunks of the cascade. */
export function follows(job: JobFacts, cancelled: boolean): LocalizedExplanation {
  const { id, batch, now, watch } = job
  const coming = nextCheck(watch, now)
  const [en, pt] = cancelled ? ['was cancelled', 'foi cancelado'] : ['has failed', 'falhou']
  return explained(
    cancelled ? 'cancelled' : 'failed',
    append(
      localized(
        `job ${id} is about to end with its batch ${batch!.id}, which ${en}: it follows${coming.late ? '' : ` ${comingIn(coming).en}`}`,
        `o job ${id} está para terminar com o lote ${batch!.id}, que ${pt}: ele segue${coming.late ? '' : ` ${comingIn(coming).pt}`}`,
      ),
      noWatchdog(watch, coming, now),
    ),
    coming.late ? 'start_worker' : 'wait',
    coming.late ? startWatchdog : wait,
    coming.late ? 'retoma up' : null,
  )
}

/** Only a failure of the last attempt causes the wait; after an older failure there was another cause. */
const hasFailed = ({ lastFailure, attempt, failures, crashes }: JobFacts) =>
  lastFailure !== null && lastFailure.attempt === attempt && failures + crashes > 0

/** The job has a deferral until the end of the provider wait. */
const isForProvider = (job: JobFacts) =>
  job.provider !== null && job.provider.name === job.deferredBy && job.sleep === null && !hasFailed(job)

/** `waits 5 s more before it tries again: failure 1 of 3, …`, and so on. */
function untilDue(job: JobFacts): LocalizedText {
  const left = until(job.runAt, job.now)
  const tries = job.failures + job.crashes
  if (hasFailed(job)) {
    const words = message(job.lastFailure!.message)
    return localized(
      `waits ${left} more before it tries again: failure ${tries} of ${job.policy.maxAttempts}, ${words}`,
      `espera mais ${left} antes de tentar de novo: falha ${tries} de ${job.policy.maxAttempts}, ${words}`,
    )
  }
  if (job.sleep !== null)
    return localized(
      `sleeps ${left} more, as its handler asked in ${quoted(job.sleep)}`,
      `dorme mais ${left}, como seu handler pediu em ${quoted(job.sleep)}`,
    )
  if (isForProvider(job)) {
    const why = whyProvider(job.provider!, job.now)
    return localized(
      `waits ${left} more: ${why.en}; no try was spent`,
      `espera mais ${left}: ${why.pt}; nenhuma tentativa foi gasta`,
    )
  }
  if (job.attempt > 0)
    return localized(
      `waits ${left} more, as its handler asked (snooze); no try was spent`,
      `espera mais ${left}, como seu handler pediu (snooze); nenhuma tentativa foi gasta`,
    )
  return localized(`is scheduled: it runs in ${left}`, `está agendado: roda em ${left}`)
}

const notDue = (job: JobFacts): LocalizedText =>
  job.runAt > job.now
    ? localized(
        `; it is not due for ${until(job.runAt, job.now)} either`,
        `; também só vence em ${until(job.runAt, job.now)}`,
      )
    : nothing
