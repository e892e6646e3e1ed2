/** The status of anything of a system, in the language of the dashboard: the word, the icon and the colour of the state behind it. */
import { Badge } from '../../components/badge.tsx'
import { type StateName, stateLooks } from '../../components/state-badge.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { statusMessages } from './messages.ts'

export type SystemStatus = keyof (typeof statusMessages)['en']

const states: Readonly<Record<SystemStatus, StateName>> = {
  PENDENTE: 'waiting',
  EM_ANDAMENTO: 'running',
  PROCESSANDO: 'running',
  PAUSADO: 'paused',
  TRAVADO: 'stalled',
  CONCLUIDO: 'succeeded',
  CONCLUIDO_COM_ERROS: 'completed_with_failures',
  ERRO: 'failed',
  PULADO: 'skipped',
  CANCELADO: 'cancelled',
  PENDING: 'waiting',
  PROCESSING: 'running',
  RUNNING: 'running',
  DONE: 'succeeded',
  COMPLETED: 'succeeded',
  ERROR: 'failed',
  FAILED: 'failed',
  CANCELLED: 'cancelled',
}

/** The state of the engine behind a status: for maps and bars in the same colours. */
export const stateOf = (status: SystemStatus): StateName => states[status]

const isKnown = (status: string): status is SystemStatus => status in states

/** A status that the dashboard does not know is shown as it is. */
export function StatusBadge({ status, title }: { status: string; title?: string }) {
  const words = useMessages(statusMessages)
  const more = title === undefined ? {} : { title }
  if (!isKnown(status)) return <Badge {...more}>{status}</Badge>
  return (
    <Badge {...stateLooks[states[status]]} {...more}>
      {words[status]}
    </Badge>
  )
}
