/** Checks the work: progress of jobs, workers, watchdog and notifications. */

import { localized } from '../../errors/errors.ts'
import { defaultPolicy, unwatchedAfter } from '../../jobs/model/policy.ts'
import { spanText } from '../../lib/values/format-duration.ts'
import { type Check, failure, ok, upTo, warning } from './doctor-check.ts'
import type { FindingFacts, NotificationTest, StarvedFacts, WorkFacts } from './doctor-facts.ts'

/** Counts stop here: the exact number above does not matter. */
export const most = 10_000
const listed = 5

/** `test`: result of a test notification, or the error if the listener could not connect. */
export function checkListen(test: NotificationTest | Error, direct: boolean): Check {
  if (test === 'received')
    return ok(
      'listen',
      localized('notifications arrive: new jobs begin at once', 'notificações chegam: jobs novos começam na hora'),
    )
  const why = test instanceof Error ? `: ${test.message}` : ''
  return warning(
    'listen',
    test === 'shared'
      ? localized(
          'a pooler shares the sessions, so no notification arrives; new jobs are found by polling, every second',
          'um pooler compartilha as sessões, então nenhuma notificação chega; jobs novos são achados por polling, a cada segundo',
        )
      : localized(
          `a notification did not arrive${why}; new jobs are found by polling, up to 5 s later`,
          `uma notificação não chegou${why}; jobs novos são achados por polling, até 5 s depois`,
        ),
    direct
      ? localized(
          'DATABASE_DIRECT_URL must lead to the same database without a pooler in transaction mode',
          'DATABASE_DIRECT_URL deve levar ao mesmo banco sem pooler em modo de transação',
        )
      : localized(
          'if DATABASE_URL is a PgBouncer in transaction mode, set DATABASE_DIRECT_URL to the database itself',
          'se DATABASE_URL é um PgBouncer em modo de transação, defina DATABASE_DIRECT_URL com o próprio banco',
        ),
  )
}

export function checkStarved(starved: readonly StarvedFacts[]): Check {
  if (starved.length === 0)
    return ok(
      'starved',
      localized('every ready job has a worker that takes it', 'todo job pronto tem um worker que o pega'),
    )
  const list = few(
    starved.map(each => `${each.queue}/${nameOf(each)} ${upTo(each.jobs, most)} (${spanText(each.oldestSeconds, 1)})`),
  )
  const nobody = starved.some(each => each.noWorker)
  return warning(
    'starved',
    localized(`ready jobs that no live worker takes: ${list}`, `jobs prontos que nenhum worker vivo pega: ${list}`),
    nobody
      ? localized(
          'start a worker for that queue: retoma worker --queues NAME:N, or retoma up',
          'inicie um worker para essa fila: retoma worker --queues NOME:N, ou retoma up',
        )
      : localized(
          'the workers of that queue do not know this kind, or not this version of it: deploy the code that does; until then these jobs wait',
          'os workers dessa fila não conhecem esse tipo, ou não esta versão dele: publique o código que conhece; até lá estes jobs esperam',
        ),
  )
}

const nameOf = ({ kind, version }: StarvedFacts) => (version === 1 ? kind : `${kind} v${version}`)

export function checkWorkers({ live, lost }: WorkFacts): Check {
  if (lost.length === 0) return ok('workers', localized(`workers alive: ${live}`, `workers vivos: ${live}`))
  const jobs = lost.reduce((sum, each) => sum + each.jobs, 0)
  const list = few(
    lost.map(each =>
      each.silentSeconds === null ? each.worker : `${each.worker} (${spanText(each.silentSeconds, 1)})`,
    ),
  )
  return warning(
    'workers',
    localized(
      `running jobs of workers that are silent or gone: ${jobs}; the workers: ${list}`,
      `jobs em execução de workers calados ou sumidos: ${jobs}; os workers: ${list}`,
    ),
    localized(
      'a watchdog puts them right within 30 s; if this stays, none runs: start `retoma up`, `serve` or `worker`',
      'um watchdog os retoma em até 30 s; se isto continuar, não há nenhum: inicie `retoma up`, `serve` ou `worker`',
    ),
  )
}

export function checkPaused({ paused }: WorkFacts): Check {
  if (paused.length === 0)
    return ok('paused', localized('no work waits in a paused queue', 'nada espera em fila pausada'))
  const list = few(paused.map(each => `${each.queue} ${upTo(each.jobs, most)}`))
  return warning(
    'paused',
    localized(`paused queues with waiting jobs: ${list}`, `filas pausadas com jobs esperando: ${list}`),
    localized('resume them when it is time', 'reative-as quando for a hora'),
  )
}

/** `seconds`: since the last check of the watchdog; null: never. */
export function checkWatchdog(seconds: number | null, { live }: WorkFacts): Check {
  if (seconds !== null && seconds * 1000 < unwatchedAfter)
    return ok(
      'watchdog',
      localized(`its last tick was ${spanText(seconds, 1)} ago`, `o último tick foi há ${spanText(seconds, 1)}`),
    )
  const sentence =
    seconds === null
      ? localized('the watchdog has never ticked', 'o watchdog nunca rodou')
      : localized(
          `the watchdog's last tick was ${spanText(seconds, 1)} ago`,
          `o último tick do watchdog foi há ${spanText(seconds, 1)}`,
        )
  // Without a live worker the watchdog is switched off, and a person should know; with a live worker the watchdog must run.
  return live > 0 ? failure('watchdog', sentence, checkProcesses) : warning('watchdog', sentence, start)
}

const start = localized(
  `start one: retoma up, serve or worker; dead workers' jobs go on about ${defaultPolicy.orphanAfter / 1000} s later`,
  `inicie um: retoma up, serve ou worker; jobs de workers mortos continuam uns ${defaultPolicy.orphanAfter / 1000} s depois`,
)
const checkProcesses = localized(
  'workers live but none sweeps: see their log for errors of the watchdog, and restart them',
  'há workers vivos mas nenhum varre: veja erros do watchdog no log deles e reinicie-os',
)

/** Starved jobs have a separate check. */
export function checkFindings(findings: readonly FindingFacts[]): Check {
  const of = (verdict: FindingFacts['verdict']) =>
    findings.filter(each => each.verdict === verdict).map(each => each.subject)
  const [hung, slow] = [of('hung'), of('slow')]
  if (hung.length + slow.length === 0)
    return ok(
      'findings',
      localized('no worker hangs and no job is slow', 'nenhum worker está preso e nenhum job está lento'),
    )
  const parts = [
    ...(hung.length > 0 ? [localized(`workers that hang: ${few(hung)}`, `workers presos: ${few(hung)}`)] : []),
    ...(slow.length > 0 ? [localized(`slow jobs: ${few(slow)}`, `jobs lentos: ${few(slow)}`)] : []),
  ]
  const all = (language: 'en' | 'pt') => parts.map(each => each[language]).join('; ')
  return warning(
    'findings',
    localized(all('en'), all('pt')),
    localized(
      '`retoma status` says since when; a slow job may need a longer `expect`, one that hangs code that gives way or `isolation`',
      '`retoma status` diz desde quando; um job lento pode precisar de um `expect` maior, um preso de código que ceda a vez ou de `isolation`',
    ),
  )
}

const few = (all: readonly string[]): string =>
  `${all.slice(0, listed).join(', ')}${all.length > listed ? `, … (+${all.length - listed})` : ''}`
