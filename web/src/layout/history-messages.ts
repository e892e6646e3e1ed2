/** The messages of the charts of the history. */
import { defineMessages } from '../i18n/messages.ts'

export const historyMessages = defineMessages(
  {
    history: 'Histórico',
    range: 'Período',
    hour: '1 h',
    day: '24 h',
    week: '7 d',
    throughput: 'Jobs por minuto',
    duration: 'Duração',
    waiting: 'Espera na fila',
    failures: { hour: 'Falhas por minuto', day: 'Falhas a cada 15 min', week: 'Falhas por hora' },
    succeeded: 'concluídos',
    failed: 'falharam',
    retried: 'tentados de novo',
    p50: 'metade até (p50)',
    p95: '95 % até (p95)',
    none: 'Nenhum job terminou neste período',
    noneHint: 'Vazão, duração, espera e falhas aparecem aqui, minuto a minuto.',
  },
  {
    history: 'History',
    range: 'Range',
    hour: '1 h',
    day: '24 h',
    week: '7 d',
    throughput: 'Jobs per minute',
    duration: 'Duration',
    waiting: 'Wait in the queue',
    failures: { hour: 'Failures per minute', day: 'Failures per 15 min', week: 'Failures per hour' },
    succeeded: 'succeeded',
    failed: 'failed',
    retried: 'retried',
    p50: 'half within (p50)',
    p95: '95% within (p95)',
    none: 'No job ended in this range',
    noneHint: 'Throughput, duration, wait and failures appear here, minute by minute.',
  },
)

export type HistoryWords = (typeof historyMessages)['en']
