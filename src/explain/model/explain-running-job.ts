/**
 * Explains a running job: a live worker, a free loop, the time limits. The explanation names the worst problem; without a
 * problem, the progress.
 */
import { type LocalizedText, localized } from '../../errors/errors.ts'
import { defaultPolicy, heartbeatEvery } from '../../jobs/model/policy.ts'
import { timeoutGrace } from '../../recovery/model/late-attempt-verdict.ts'
import type { JobFacts, WorkerFacts } from './explain-facts.ts'
import { pastMaxAge } from './explain-time-limits.ts'
import { follows } from './explain-waiting-job.ts'
import type { LocalizedExplanation } from './explanation.ts'
import { comingIn, nextCheck, nextSweep, noWatchdog, startWatchdog } from './next-watchdog-check.ts'
import { append, counted, explained, lasting, message, nothing, quoted, since, until, wait } from './sentence-parts.ts'

/** A worker silent for longer has missed a heartbeat. */
const silentMs = defaultPolicy.orphanAfter / 2
/** An outcome unwritten for longer waits for the database. */
const writeLagMs = 5000

export function explainRunning(job: JobFacts): LocalizedExplanation {
  const { worker, batch } = job
  if (batch?.following && ['cancelled', 'failed'].includes(batch.state))
    return follows(job, batch.state === 'cancelled')
  if (worker === null || worker.deadAt !== null || isSilent(worker, job.now)) return orphan(job, worker)
  if (worker.blockedSince !== null) return hung(job, worker, worker.blockedSince)
  return pastMaxAge(job) ?? pastItsTimes(job, worker) ?? fine(job, worker)
}

export const isSilent = ({ heartbeatAt }: Pick<WorkerFacts, 'heartbeatAt'>, now: Date): boolean =>
  now.getTime() - heartbeatAt.getTime() > silentMs

function orphan(job: JobFacts, worker: WorkerFacts | null): LocalizedExplanation {
  const { id, now, policy, watch } = job
  const coming = nextCheck(watch, now, orphanAt(job, worker))
  const name = quoted(worker?.id ?? job.workerId ?? '?')
  const what = (() => {
    if (worker === null) return localized(`its worker ${name} is gone`, `seu worker ${name} sumiu`)
    if (worker.deadAt === null)
      return localized(
        `its worker ${name} has been silent for ${since(worker.heartbeatAt, now)}; if it is dead`,
        `seu worker ${name} está calado há ${since(worker.heartbeatAt, now)}; se morreu`,
      )
    if (worker.leftAt !== null) return localized(`its worker ${name} has stopped`, `seu worker ${name} parou`)
    const of = worker.crashReport === null ? '' : ` (${message(worker.crashReport.why)})`
    return localized(`its worker ${name} is dead${of}`, `seu worker ${name} morreu${of}`)
  })()
  const then = {
    retry: localized('it runs again elsewhere', 'ele roda de novo em outro lugar'),
    stall: localized('it stalls and waits for a person', 'ele trava e espera por uma pessoa'),
    fail: localized('it fails', 'ele falha'),
  }[worker?.deadAt != null && worker.leftAt !== null ? 'retry' : policy.onOrphan]
  const silent = worker?.deadAt === null
  const comma = silent ? ', ' : '; '
  return explained(
    'orphan',
    append(
      silent
        ? localized(`job ${id} may be held by nobody: `, `o job ${id} talvez não esteja com ninguém: `)
        : localized(`job ${id} is held by nobody alive: `, `o job ${id} não está com ninguém vivo: `),
      what,
      localized(
        `${comma}${then.en}${coming.late ? '' : ` ${comingIn(coming).en}`}`,
        `${comma}${then.pt}${coming.late ? '' : ` ${comingIn(coming).pt}`}`,
      ),
      noWatchdog(watch, coming, now),
    ),
    coming.late ? 'start_worker' : 'wait',
    coming.late ? startWatchdog : localized('wait; the watchdog puts it right', 'espere; o watchdog resolve'),
    coming.late ? 'retoma up' : null,
  )
}

/**
 * Instant from which the watchdog treats the job as an orphan: a silent worker is first suspected and two heartbeat intervals
 * later dead; a kind may have a longer `orphanAfter`. At once if the worker's row is deleted or the worker stopped on its own.
 */
function orphanAt({ policy, startedAt, now }: JobFacts, worker: WorkerFacts | null): Date {
  if (worker === null) return now
  const { orphanAfter, sweepEvery } = policy
  const { heartbeatAt, suspectedAt, deadAt, leftAt } = worker
  if (deadAt !== null && leftAt !== null) return now
  const silent = (ms: number) => heartbeatAt.getTime() + ms
  const verdict =
    deadAt?.getTime() ??
    Math.max(
      silent(Math.min(orphanAfter, defaultPolicy.orphanAfter)),
      (suspectedAt ?? now).getTime() + 2 * heartbeatEvery,
    )
  const asksForMore = orphanAfter > defaultPolicy.orphanAfter || sweepEvery > defaultPolicy.sweepEvery
  if (!asksForMore) return new Date(verdict)
  const sign = Math.min(Math.max(heartbeatAt.getTime(), startedAt?.getTime() ?? 0), verdict)
  return nextSweep(new Date(Math.max(verdict, sign + orphanAfter)), sweepEvery)
}

function hung(job: JobFacts, worker: WorkerFacts, since_: Date): LocalizedExplanation {
  const { id, now, policy } = job
  const name = quoted(worker.id)
  const long = since(since_, now)
  const own = worker.blockedJob === id
  const who = own
    ? localized(
        `job ${id} itself blocks the event loop of its worker ${name}, for ${long}`,
        `o próprio job ${id} bloqueia o event loop do seu worker ${name}, há ${long}`,
      )
    : localized(
        `job ${id} cannot go on: the event loop of its worker ${name} has been blocked for ${long}${worker.blockedJob === null ? '' : ` by job ${worker.blockedJob}`}`,
        `o job ${id} não avança: o event loop do seu worker ${name} está bloqueado há ${long}${worker.blockedJob === null ? '' : ` pelo job ${worker.blockedJob}`}`,
      )
  if (worker.supervised) {
    const end = own && job.startedAt !== null ? new Date(job.startedAt.getTime() + policy.timeout) : null
    const when =
      end === null
        ? localized("at that job's timeout", 'no timeout desse job')
        : localized(`at its timeout, ${until(end, now)} from now,`, `no seu timeout, daqui a ${until(end, now)},`)
    return explained(
      'hung',
      append(
        who,
        localized(
          `; ${when.en} the process is killed and started again`,
          `; ${when.pt} o processo é morto e iniciado de novo`,
        ),
      ),
      'wait',
      localized(
        'wait, or look at the stack: that function never lets go',
        'espere, ou veja a pilha: essa função não devolve o controle',
      ),
    )
  }
  return explained(
    'hung',
    append(
      who,
      localized(
        '; nobody starts that worker again, so it is not killed',
        '; ninguém reinicia esse worker, então ele não é morto',
      ),
    ),
    'restart_worker',
    localized(
      `if it does not come free, kill process ${worker.pid} on ${quoted(worker.host)}: its jobs run again elsewhere, and none of them pays for it`,
      `se não se soltar, mate o processo ${worker.pid} em ${quoted(worker.host)}: seus jobs rodam de novo em outro lugar, sem custo para eles`,
    ),
  )
}

function pastItsTimes(job: JobFacts, worker: WorkerFacts): LocalizedExplanation | undefined {
  const { id, now, policy, watch } = job
  const started = job.startedAt ?? now
  const runs = now.getTime() - started.getTime()
  // Unobserved time, and time in which the job could not advance through no fault of its own, never counts.
  const clockFrom = latest(started, watch.unbrokenAt, worker.unblockedAt)
  const counts = now.getTime() - clockFrom.getTime()
  const blockedFrom = latest(clockFrom, job.progressAt)
  const blockedFor = now.getTime() - blockedFrom.getTime()
  const name = quoted(worker.id)
  if (worker.writeLagMs >= writeLagMs)
    return explained(
      'unwritten',
      localized(
        `job ${id} runs on worker ${name}, which has waited ${lasting(worker.writeLagMs)} for the database to take what its jobs did; their time does not count meanwhile`,
        `o job ${id} roda no worker ${name}, que espera há ${lasting(worker.writeLagMs)} o banco aceitar o que seus jobs fizeram; o tempo deles fica parado enquanto isso`,
      ),
      'wait',
      localized('wait, and look at the database', 'espere, e olhe o banco'),
      'retoma doctor',
    )
  if (counts > policy.timeout) {
    const coming = nextCheck(watch, now, new Date(clockFrom.getTime() + policy.timeout + timeoutGrace))
    return explained(
      'timeout',
      append(
        localized(
          `job ${id} has run for ${lasting(runs)}, past its timeout of ${lasting(policy.timeout)}: its signal is aborted, and the watchdog takes it away ${coming.late ? 'a minute after that' : comingIn(coming).en}`,
          `o job ${id} roda há ${lasting(runs)}, além do seu timeout de ${lasting(policy.timeout)}: foi avisado para terminar, e o watchdog o tira ${coming.late ? 'um minuto depois' : comingIn(coming).pt}`,
        ),
        noWatchdog(watch, coming, now),
      ),
      coming.late ? 'start_worker' : 'wait',
      coming.late ? startWatchdog : wait,
      coming.late ? 'retoma up' : null,
    )
  }
  if (policy.stallAfter !== null && blockedFor > policy.stallAfter) {
    const stalls = new Date(blockedFrom.getTime() + policy.stallAfter)
    const coming = nextCheck(watch, now, nextSweep(stalls, policy.sweepEvery))
    const then = {
      retry: localized('it is run again', 'ele roda de novo'),
      stall: localized('it is stalled and waits for a person', 'ele trava e espera por uma pessoa'),
      fail: localized('it fails', 'ele falha'),
    }[policy.onStall]
    return explained(
      'stalled',
      append(
        localized(
          `job ${id} runs on worker ${name} but has made no progress for ${lasting(blockedFor)}, more than its ${lasting(policy.stallAfter)}: ${then.en}${coming.late ? '' : ` ${comingIn(coming).en}`}`,
          `o job ${id} roda no worker ${name} mas não avança há ${lasting(blockedFor)}, mais que os seus ${lasting(policy.stallAfter)}: ${then.pt}${coming.late ? '' : ` ${comingIn(coming).pt}`}`,
        ),
        noWatchdog(watch, coming, now),
      ),
      coming.late ? 'start_worker' : 'wait',
      coming.late ? startWatchdog : localized('wait for that, then resume it', 'espere por isso e então retome'),
      coming.late ? 'retoma up' : null,
    )
  }
  if (policy.expect !== null && runs > policy.expect)
    return explained(
      'slow',
      append(
        localized(
          `job ${id} is slow: it has run for ${lasting(runs)} where ${lasting(policy.expect)} were expected`,
          `o job ${id} está lento: roda há ${lasting(runs)} onde se esperavam ${lasting(policy.expect)}`,
        ),
        howFar(job),
      ),
      'wait',
      localized(
        `wait; its timeout is ${lasting(policy.timeout)}`,
        `espere; seu timeout é de ${lasting(policy.timeout)}`,
      ),
    )
  return undefined
}

export const latest = (...instants: readonly (Date | null)[]): Date =>
  new Date(Math.max(...instants.map(at => at?.getTime() ?? 0)))

const fine = (job: JobFacts, worker: WorkerFacts): LocalizedExplanation =>
  explained(
    'ok',
    append(
      localized(
        `job ${job.id} runs: attempt ${job.attempt}, for ${since(job.startedAt ?? job.now, job.now)}, on worker ${quoted(worker.id)}`,
        `o job ${job.id} está rodando: tentativa ${job.attempt}, há ${since(job.startedAt ?? job.now, job.now)}, no worker ${quoted(worker.id)}`,
      ),
      howFar(job),
      job.crashSuspicion.level > 0
        ? localized(
            '; it runs with care, because its process died of something',
            '; roda com cuidado, porque seu processo morreu de algo',
          )
        : nothing,
    ),
    'wait',
    wait,
  )

/** `; after its step "extract", 3 of 10, 4 s ago` */
function howFar({ checkpoint, progress, progressAt, now }: JobFacts): LocalizedText {
  const step =
    checkpoint === null
      ? nothing
      : localized(`; after its step ${quoted(checkpoint)}`, `; depois da etapa ${quoted(checkpoint)}`)
  const done = typeof progress?.done === 'number' ? progress.done : undefined
  const total = typeof progress?.total === 'number' ? progress.total : undefined
  const of = total === undefined ? nothing : localized(` of ${counted(total).en}`, ` de ${counted(total).pt}`)
  const count =
    done === undefined
      ? nothing
      : localized(
          `; ${counted(done).en}${of.en} done`,
          `; ${counted(done).pt}${of.pt} ${(total ?? done) === 1 ? 'feito' : 'feitos'}`,
        )
  const when =
    progressAt === null
      ? nothing
      : localized(`; last progress ${since(progressAt, now)} ago`, `; último avanço há ${since(progressAt, now)}`)
  return append(step, count, when)
}
