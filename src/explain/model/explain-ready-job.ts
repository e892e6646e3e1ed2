/** Explains a ready job with an eligible worker: the job waits for its turn, a slot, or a limit. */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import type { FairTurns } from '../../limits/model/queue-limits.ts'
import type { JobFacts } from './explain-facts.ts'
import { whyLimited } from './explain-limits.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { append, counted, explained, nothing, quoted, since, typed, upToMost, wait } from './sentence-parts.ts'

export function explainReadyJob(job: JobFacts): LocalizedExplanation {
  const { id, queue, eligibleWorkers, ahead, now } = job
  const limited = whyLimited(job.limits, job, now)
  if (limited !== undefined)
    return explained(
      'limited',
      append(
        localized(`job ${id} waits for a limit: ${limited.en}`, `o job ${id} espera por um limite: ${limited.pt}`),
        andBehind(job),
      ),
      'wait',
      localized('wait, or raise the limit', 'espere, ou aumente o limite'),
    )
  if (eligibleWorkers.blocked === eligibleWorkers.taking)
    return explained(
      'hung',
      localized(
        `job ${id} is ready but the event loop ${ofAllWorkers(eligibleWorkers.taking).en} is blocked`,
        `o job ${id} está pronto mas o event loop ${ofAllWorkers(eligibleWorkers.taking).pt} está bloqueado`,
      ),
      'restart_worker',
      localized(
        'look at what blocks it, and start another worker or restart that one',
        'veja o que o bloqueia e inicie outro worker ou reinicie esse',
      ),
      `retoma explain queue ${typed(queue)}`,
    )
  if (job.crashSuspicion.level > 0) return suspect(job)
  if (eligibleWorkers.free === 0)
    return explained(
      'waiting',
      append(
        localized(
          `job ${id} is ready and waits for a free slot: ${allBusy(eligibleWorkers).en}`,
          `o job ${id} está pronto e espera uma vaga: ${allBusy(eligibleWorkers).pt}`,
        ),
        andBehind(job),
      ),
      'wait',
      localized('wait, or start another worker', 'espere, ou inicie outro worker'),
    )
  if (ahead.jobs === 0 && !ahead.more) return next(job)
  const n = upToMost(ahead)
  return explained(
    'waiting',
    localized(
      `job ${id} is ready and behind ${n.en} ${others(job).en} of ${job.turns ? `${own(job.turns).en} in ` : ''}queue ${quoted(queue)}${inTurn(job.turns).en}`,
      `o job ${id} está pronto, atrás de ${n.pt} ${others(job).pt} ${job.turns ? `${own(job.turns).pt} na` : 'da'} fila ${quoted(queue)}${inTurn(job.turns).pt}`,
    ),
    'wait',
    wait,
  )
}

/** Every worker polls within this time: a job that waits longer should have started. */
const soonMs = 30_000

function next({ id, queue, runAt, now, turns }: JobFacts): LocalizedExplanation {
  if (turns)
    return explained(
      'waiting',
      localized(
        `job ${id} is ready and the next of ${own(turns).en} in queue ${quoted(queue)}${inTurn(turns).en}`,
        `o job ${id} está pronto e é o próximo ${own(turns).pt} na fila ${quoted(queue)}${inTurn(turns).pt}`,
      ),
      'wait',
      wait,
    )
  if (now.getTime() - runAt.getTime() <= soonMs)
    return explained(
      'waiting',
      localized(
        `job ${id} is ready and next in queue ${quoted(queue)}: it starts within seconds`,
        `o job ${id} está pronto e é o próximo da fila ${quoted(queue)}: começa em segundos`,
      ),
      'wait',
      wait,
    )
  return explained(
    'waiting',
    localized(
      `job ${id} has been ready for ${since(runAt, now)}, is next in queue ${quoted(queue)} and there is a free slot for it: it should have started`,
      `o job ${id} está pronto há ${since(runAt, now)}, é o próximo da fila ${quoted(queue)} e há vaga para ele: já devia ter começado`,
    ),
    'wait',
    localized(
      'wait a moment; if it does not start, look at the log of the workers',
      'espere um momento; se não começar, veja o log dos workers',
    ),
    'retoma workers',
  )
}

function suspect({ id, crashSuspicion }: JobFacts): LocalizedExplanation {
  const how =
    crashSuspicion.level === 1
      ? localized('it runs next apart from the other suspects', 'roda em seguida separado dos outros suspeitos')
      : localized('it runs next alone', 'roda em seguida sozinho')
  return explained(
    'suspect',
    localized(
      `job ${id} was there when its process died and may have killed it: ${how.en}, as soon as a worker has a place for that`,
      `o job ${id} estava lá quando seu processo morreu e pode tê-lo matado: ${how.pt}, assim que um worker tiver lugar para isso`,
    ),
    'wait',
    localized('wait; the next run shows whether it was this job', 'espere; a próxima execução mostra se foi este job'),
  )
}

const own = (turns: FairTurns): LocalizedText =>
  turns === 'group' ? localized('its group', 'do seu grupo') : localized('its batch', 'do seu lote')

function inTurn(turns: FairTurns | null): LocalizedText {
  if (turns === null) return nothing
  return turns === 'group'
    ? localized('; the groups of a priority take turns', '; os grupos de uma prioridade se revezam')
    : localized('; the batches of a priority take turns', '; os lotes de uma prioridade se revezam')
}

const others = ({ ahead }: JobFacts): LocalizedText =>
  ahead.jobs === 1 && !ahead.more ? localized('other', 'outro') : localized('others', 'outros')

function andBehind(job: JobFacts): LocalizedText {
  if (job.ahead.jobs === 0 && !job.ahead.more) return job.turns ? nothing : localized('; it is next', '; é o próximo')
  const n = upToMost(job.ahead)
  return localized(
    `; ${n.en} ${others(job).en} ${job.turns ? `of ${own(job.turns).en} ` : ''}come before it`,
    `; ${n.pt} ${others(job).pt} ${job.turns ? `${own(job.turns).pt} ` : ''}antes dele`,
  )
}

/** `all 8 of the 2 workers that take it are busy`: slots, for a job or a batch. */
export function allBusy({ slots, taking }: JobFacts['eligibleWorkers']): LocalizedText {
  const of =
    taking === 1
      ? localized('of the one worker that takes it', 'do único worker que o pega')
      : localized(`of the ${taking} workers that take it`, `dos ${taking} workers que o pegam`)
  return slots === 1
    ? localized(`the only one ${of.en} is busy`, `a única ${of.pt} está ocupada`)
    : localized(`all ${counted(slots).en} ${of.en} are busy`, `todas as ${counted(slots).pt} ${of.pt} estão ocupadas`)
}

const ofAllWorkers = (n: number): LocalizedText =>
  n === 1
    ? localized('of the only worker that takes it', 'do único worker que o pega')
    : localized(`of all ${n} workers that take it`, `de todos os ${n} workers que o pegam`)
