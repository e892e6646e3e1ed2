/** The messages of the timeline of a job and of its failures. */
import { defineMessages } from '../../i18n/messages.ts'

export const timelineMessages = defineMessages(
  {
    startUnknown: 'início não guardado',
    released: 'Liberada',
    legend: { attempt: 'Tentativa', step: 'Passo', sleep: 'Pausa', wait: 'Espera', provider: 'Espera por um provedor' },
    failureType: {
      error: 'Erro',
      timeout: 'Tempo esgotado',
      crash: 'O processo caiu',
      orphan: 'O worker morreu',
      hung: 'Sem progresso',
      stalled: 'Travou',
      overdue: 'Passou do prazo',
    } as Record<string, string>,
  },
  {
    startUnknown: 'start not kept',
    released: 'Released',
    legend: { attempt: 'Attempt', step: 'Step', sleep: 'Sleep', wait: 'Wait', provider: 'Wait for a provider' },
    failureType: {
      error: 'Error',
      timeout: 'Time-out',
      crash: 'The process died',
      orphan: 'The worker died',
      hung: 'No progress',
      stalled: 'Stalled',
      overdue: 'Overdue',
    },
  },
)

export type TimelineWords = (typeof timelineMessages)['en']
