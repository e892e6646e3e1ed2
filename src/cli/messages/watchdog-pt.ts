/** Messages of the command line about the watchdog and its findings, in Portuguese. */
import type { watch as english } from './watchdog-en.ts'

export const watch: typeof english = {
  watching: version => `Retoma ${version} vigiando`,
  allIsWell: 'tudo bem: não havia nada a corrigir',
  dead: workers => `workers declarados mortos: ${workers}`,
  recovered: jobs => `jobs de workers mortos corrigidos: ${jobs}`,
  timedOut: jobs => `jobs que passaram do tempo, encerrados: ${jobs}`,
  stalled: jobs => `jobs sem progresso: ${jobs}`,
  overdue: jobs => `jobs além do maxAge ou do maxWait, com falha: ${jobs}`,
  batch: (id, state, noWorker) =>
    `o lote ${id} não avançou${noWorker ? ' (nenhum worker está vivo)' : ''}: está ${state}`,
  findings: 'achados:',
  hung: (worker, job, since) =>
    `preso: o worker ${worker} está parado ${since}${job === null ? '' : `, no job ${job}`}`,
  slow: (job, kind, since) => `lento: o job ${job} (${kind}) devia ter terminado ${since}`,
  starved: (queue, kind, noWorker, since) =>
    `sem worker: pronto ${since}, e nenhum worker vivo pega ${noWorker ? `a fila ${queue} (${kind})` : `${kind} da fila ${queue}`}`,
  help: {
    watchdog:
      'cuida de workers, jobs, lotes, agendamentos e guards, sem trabalhar; todo worker e servidor também o faz',
    watchdogOnce: 'uma passada e fim, para um cron externo; dez segundos a mais quando um worker está calado',
  },
}
