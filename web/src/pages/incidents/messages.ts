/** The messages of the page of the incidents. */
import { defineMessages } from '../../i18n/messages.ts'

export const incidentsMessages = defineMessages(
  {
    title: 'Incidentes',
    subtitle: 'O que está errado agora, e o que já se resolveu nos últimos 30 dias.',
    past: 'Histórico',
    calm: 'Nada de errado agora',
    calmHint: 'Quando algo trava, fica lento ou sem worker, aparece aqui com a frase que explica e desde quando.',
    noPast: 'Nenhum incidente registrado',
    noPastHint:
      'Incidentes são registrados quando RETOMA_NOTIFY_URL está configurado: cada um avisa uma pessoa uma vez, e outra quando se resolve.',
    lasted: (duration: string) => `durou ${duration}`,
    resolved: 'Resolvido',
    open: 'Aberto',
    incident: 'Incidente',
    when: 'Quando',
    state: 'Estado',
    more: 'Mostrar mais',
  },
  {
    title: 'Incidents',
    subtitle: 'What is wrong now, and what was resolved during the last 30 days.',
    past: 'History',
    calm: 'Nothing is wrong now',
    calmHint:
      'When something stalls, is slow or has no worker, it is listed here with the sentence that explains it and since when.',
    noPast: 'No incident is recorded',
    noPastHint:
      'Incidents are recorded where RETOMA_NOTIFY_URL is set: each one tells a person once, and again when it is resolved.',
    lasted: duration => `lasted ${duration}`,
    resolved: 'Resolved',
    open: 'Open',
    incident: 'Incident',
    when: 'When',
    state: 'State',
    more: 'Show more',
  },
)
