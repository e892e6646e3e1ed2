/**
 * Explains a batch that is neither blocked nor final: the running items with their workers, and the obstacle of the waiting
 * items.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { oneDecimal } from '../../lib/values/format-number.ts'
import type { BatchFacts, RunnerFacts, WorkerFacts } from './explain-facts.ts'
import { whyLimited } from './explain-limits.ts'
import { bringing, startWorker, whyNoWorker } from './explain-no-worker.ts'
import { besidesProvider, waitFor, whyProvider } from './explain-provider.ts'
import { allBusy } from './explain-ready-job.ts'
import { isSilent, latest } from './explain-running-job.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { comingIn, nextCheck, noWatchdog, startWatchdog } from './next-watchdog-check.ts'
import {
  append,
  counted,
  explained,
  lasting,
  nothing,
  queueIsPaused,
  quoted,
  since,
  typed,
  until,
  wait,
} from './sentence-parts.ts'

export function explainActiveBatch(batch: BatchFacts): LocalizedExplanation {
  const { id, queue, running, waiting } = batch
  if (batch.queuePaused && waiting > 0)
    return queueIsPaused(localized(`batch ${id}`, `o lote ${id}`), queue, counts(batch))
  return running > 0 ? itRuns(batch) : waiting > 0 ? itWaits(batch) : nothingLeft(batch)
}

const isLost = ({ worker }: RunnerFacts, now: Date): boolean =>
  worker === null || worker.deadAt !== null || isSilent(worker, now)
const blockedOf = ({ worker }: RunnerFacts): WorkerFacts | undefined =>
  worker?.blockedSince == null ? undefined : worker

function itRuns(batch: BatchFacts): LocalizedExplanation {
  const { id, now, runners, rate, progressAt, stallAfterMs, stallClockAt, watch } = batch
  const lost = runners.filter(each => isLost(each, now))
  const hung = runners.filter(each => !lost.includes(each) && blockedOf(each) !== undefined)
  if (runners.length > 0 && lost.length === runners.length) {
    const coming = nextCheck(watch, now)
    return explained(
      'orphan',
      append(
        localized(
          `all that runs of batch ${id} is on workers that are dead or silent; the watchdog recovers it${coming.late ? '' : ` when it is sure; the next check is ${comingIn(coming).en}`}`,
          `tudo que roda do lote ${id} está em workers mortos ou calados; o watchdog resolve${coming.late ? '' : ` quando tiver certeza; a próxima verificação é ${comingIn(coming).pt}`}`,
        ),
        noWatchdog(watch, coming, now),
      ),
      coming.late ? 'start_worker' : 'wait',
      coming.late ? startWatchdog : wait,
      coming.late ? 'retoma up' : null,
    )
  }
  const blocked = hung.length === 0 ? undefined : blockedOf(hung[0]!)
  if (blocked !== undefined && (rate === null || hung.length + lost.length === runners.length))
    return explained(
      'hung',
      localized(
        `batch ${id} is held up: the event loop of worker ${quoted(blocked.id)}, which runs ${counted(hung[0]!.items).en} of its items, has been blocked for ${since(blocked.blockedSince!, now)}${byJob(blocked).en}`,
        `o lote ${id} está preso: o event loop do worker ${quoted(blocked.id)}, que roda ${counted(hung[0]!.items).pt} de seus itens, está bloqueado há ${since(blocked.blockedSince!, now)}${byJob(blocked).pt}`,
      ),
      blocked.supervised ? 'wait' : 'restart_worker',
      blocked.supervised
        ? localized(
            "wait; at that job's timeout the process is killed and started again",
            'espere; no timeout desse job o processo é morto e iniciado de novo',
          )
        : localized(
            `if it does not come free, kill process ${blocked.pid} on ${quoted(blocked.host)}: its jobs run again elsewhere`,
            `se não se soltar, mate o processo ${blocked.pid} em ${quoted(blocked.host)}: seus jobs rodam de novo em outro lugar`,
          ),
    )
  // Same rule as the watchdog: time in which no item could run does not count.
  const blockedFor = now.getTime() - latest(progressAt, batch.createdAt, stallClockAt, watch.unbrokenAt).getTime()
  if (stallAfterMs !== null && stallClockAt !== null && blockedFor > stallAfterMs)
    return explained(
      'slow',
      append(
        localized(
          `batch ${id} runs, but no item of it has ended for ${lasting(blockedFor)}: ${lasting(stallAfterMs)} of work without an end make it stalled`,
          `o lote ${id} roda, mas nenhum item terminou há ${lasting(blockedFor)}: ${lasting(stallAfterMs)} de trabalho sem um fim o travam`,
        ),
        counts(batch),
      ),
      'wait',
      localized('wait; once it is stalled, resume it', 'espere; se travar, retome'),
    )
  const besides =
    hung.length === 0
      ? nothing
      : localized(
          `; one of its workers is blocked: ${quoted(hung[0]!.id)}`,
          `; um de seus workers está bloqueado: ${quoted(hung[0]!.id)}`,
        )
  return explained(
    'ok',
    append(
      localized(`batch ${id} runs`, `o lote ${id} está rodando`),
      pace(batch),
      counts(batch),
      takesTurns(batch),
      besides,
      besidesProvider(batch.provider, now),
    ),
    'wait',
    wait,
  )
}

function itWaits(batch: BatchFacts): LocalizedExplanation {
  const { id, now, eligibleWorkers, ready, later, dueAt, seenAll } = batch
  const nobody = whyNoWorker(batch, eligibleWorkers)
  const { text, command } = startWorker(batch, eligibleWorkers)
  if (nobody !== undefined)
    return explained(
      'starved',
      append(
        localized(
          `batch ${id} waits and nobody takes it: ${nobody.en}`,
          `o lote ${id} espera e ninguém o pega: ${nobody.pt}`,
        ),
        counts(batch),
      ),
      bringing(eligibleWorkers),
      text,
      command,
    )
  if (batch.provider !== null) {
    const why = whyProvider(batch.provider, now)
    return explained(
      'waiting',
      append(localized(`batch ${id} waits: ${why.en}`, `o lote ${id} espera: ${why.pt}`), counts(batch)),
      ...waitFor(batch.provider, now),
    )
  }
  if (seenAll && ready === 0 && later > 0 && dueAt !== null)
    return explained(
      'waiting',
      append(
        localized(
          `batch ${id} has nothing that is ready: all that is left waits for a time (backoff, sleep or schedule), the first for ${until(dueAt, now)} more`,
          `o lote ${id} não tem nada pronto: tudo que resta espera por um horário (backoff, pausa ou agendamento), o primeiro por mais ${until(dueAt, now)}`,
        ),
        counts(batch),
      ),
      'wait',
      wait,
    )
  const limited = whyLimited(batch.limits, { queue: batch.queue, groupKey: null }, now)
  if (limited !== undefined)
    return explained(
      'limited',
      append(
        localized(`batch ${id} waits for a limit: ${limited.en}`, `o lote ${id} espera por um limite: ${limited.pt}`),
        counts(batch),
        takesTurns(batch),
      ),
      'wait',
      localized('wait, or raise the limit', 'espere, ou aumente o limite'),
    )
  if (eligibleWorkers.blocked === eligibleWorkers.taking)
    return explained(
      'hung',
      append(
        localized(
          `batch ${id} waits: the event loop of every worker that takes it is blocked`,
          `o lote ${id} espera: o event loop de todo worker que o pega está bloqueado`,
        ),
        counts(batch),
      ),
      'restart_worker',
      localized('look at what blocks them, and start another worker', 'veja o que os bloqueia e inicie outro worker'),
      `retoma explain queue ${typed(batch.queue)}`,
    )
  const busy = eligibleWorkers.free === 0
  return explained(
    'waiting',
    append(
      busy
        ? localized(
            `batch ${id} waits for a free slot: ${allBusy(eligibleWorkers).en} with other jobs`,
            `o lote ${id} espera uma vaga: ${allBusy(eligibleWorkers).pt} com outros jobs`,
          )
        : localized(
            `batch ${id} waits in line: its items start as workers come to them`,
            `o lote ${id} espera na fila: seus itens começam à medida que os workers chegam a eles`,
          ),
      counts(batch),
      takesTurns(batch),
    ),
    'wait',
    busy ? localized('wait, or start another worker', 'espere, ou inicie outro worker') : wait,
  )
}

function nothingLeft(batch: BatchFacts): LocalizedExplanation {
  const { id, stalled, watch, now } = batch
  if (stalled > 0)
    return explained(
      'stalled',
      append(
        localized(
          `batch ${id} cannot end: what is left of it is stalled and waits for a person`,
          `o lote ${id} não pode terminar: o que resta dele travou e espera por uma pessoa`,
        ),
        counts(batch),
      ),
      'resume',
      localized('look at them, then retry each', 'veja-os e então use retry em cada um'),
      `retoma batch items ${id} --state stalled`,
    )
  const coming = nextCheck(watch, now)
  return explained(
    'ok',
    append(
      localized(
        `batch ${id} is at its end: every item has ended, and that is noted${coming.late ? '' : ` ${comingIn(coming).en}`}`,
        `o lote ${id} chegou ao fim: todos os itens terminaram, e isso é anotado${coming.late ? '' : ` ${comingIn(coming).pt}`}`,
      ),
      noWatchdog(watch, coming, now),
    ),
    coming.late ? 'start_worker' : 'wait',
    coming.late ? startWatchdog : wait,
    coming.late ? 'retoma up' : null,
  )
}

const byJob = ({ blockedJob }: WorkerFacts): LocalizedText =>
  blockedJob === null ? nothing : localized(` by job ${blockedJob}`, ` pelo job ${blockedJob}`)

/** ` at 41.3 items a second, about 24 s left, the last ended 2 s ago` */
function pace({ rate, etaSeconds, progressAt, now }: BatchFacts): LocalizedText {
  const fast = rate === null ? nothing : perTime(rate)
  const left =
    etaSeconds === null
      ? nothing
      : localized(`, about ${spanText(etaSeconds)} left`, `, faltam cerca de ${spanText(etaSeconds)}`)
  const last =
    progressAt === null
      ? localized(', none has ended yet', ', nenhum terminou ainda')
      : localized(`, the last ended ${since(progressAt, now)} ago`, `, o último terminou há ${since(progressAt, now)}`)
  return append(fast, left, last)
}

function perTime(rate: number): LocalizedText {
  const [number, en, pt] =
    rate >= 1
      ? [rate, 'second', 'segundo']
      : rate * 60 >= 1
        ? [rate * 60, 'minute', 'minuto']
        : [rate * 3600, 'hour', 'hora']
  // In Portuguese the plural begins at two.
  return localized(
    ` at ${oneDecimal(number, 'en')} items a ${en}`,
    ` a ${oneDecimal(number, 'pt')} ${number < 1.95 ? 'item' : 'itens'} por ${pt}`,
  )
}

/** `; it takes turns with 2 other batches: about 10 jobs of others start before its last, in about 12 s` */
function takesTurns({ turn, waiting }: BatchFacts): LocalizedText {
  if (turn === null || waiting === 0 || turn.jobs === 0) return nothing
  const { seconds } = turn
  const [others, jobs] = [counted(turn.batches), counted(turn.jobs)]
  const withWhom =
    turn.batches === 0
      ? localized('single jobs', 'jobs avulsos')
      : turn.batches === 1
        ? localized('1 other batch', '1 outro lote')
        : localized(`${others.en} other batches`, `${others.pt} outros lotes`)
  const when =
    seconds === null ? nothing : localized(`, in about ${spanText(seconds)}`, `, em cerca de ${spanText(seconds)}`)
  const [start, begin] =
    turn.jobs === 1
      ? ['job of others starts', 'job de outros começa']
      : ['jobs of others start', 'jobs de outros começam']
  return localized(
    `; it takes turns with ${withWhom.en}: about ${jobs.en} ${start} before its last${when.en}`,
    `; reveza com ${withWhom.pt}: cerca de ${jobs.pt} ${begin} antes do seu último${when.pt}`,
  )
}

/** `; 1,004 of 2,000 ended, 3 failed, 20 running, 973 waiting` */
function counts(batch: BatchFacts): LocalizedText {
  const { total, succeeded, failed, skipped, cancelled, running, waiting, stalled } = batch
  const ended = succeeded + failed + skipped + cancelled
  const parts: [number, string, string][] = [
    [failed, 'failed', 'com falha'],
    [running, 'running', 'rodando'],
    [waiting, 'waiting', 'esperando'],
    [stalled, 'stalled', stalled === 1 ? 'travado' : 'travados'],
  ]
  const shown = parts.filter(([n]) => n > 0)
  const list = (of: 1 | 2, language: 'en' | 'pt') =>
    shown.map(part => `, ${counted(part[0])[language]} ${part[of]}`).join('')
  return localized(
    `; ${counted(ended).en} of ${counted(total).en} ended${list(1, 'en')}`,
    `; ${counted(ended).pt} de ${counted(total).pt} ${total === 1 ? 'encerrado' : 'encerrados'}${list(2, 'pt')}`,
  )
}
