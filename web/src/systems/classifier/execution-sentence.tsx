/** One sentence that says how the execution is, with the button that helps. */
import { Play, RotateCw, StepForward } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { statusMessages } from '../shared/messages.ts'
import { type Detail, shownStatus } from './api-types.ts'
import { executionMessages } from './execution-messages.ts'
import type { ExecutionActions } from './use-actions.ts'
import { useIdleSeconds } from './use-execution.ts'

/** An execution that is at work and idle for so long says so. */
const idleFrom = 60

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

interface ExecutionSentenceProps {
  detail: Detail
  /** When `detail` was read, by the clock of the browser. */
  readAt: number
  actions: ExecutionActions
}

export function ExecutionSentence({ detail, readAt, actions }: ExecutionSentenceProps) {
  const words = useMessages(executionMessages)
  const names = useMessages(statusMessages)
  const idle = useIdleSeconds(detail, readAt)
  const diagnosis = capital(detail.diagnostico)
  const buttons = <Buttons detail={detail} actions={actions} />
  const title = names[shownStatus(detail)]
  switch (detail.status) {
    case 'TRAVADO':
      return (
        <div role="alert" data-sentence="TRAVADO">
          <Sentence kind="warn" action={buttons} hint={<Stalled detail={detail} />}>
            {words.stalled}
          </Sentence>
        </div>
      )
    case 'PENDENTE':
    case 'EM_ANDAMENTO':
      return idle >= idleFrom ? (
        <div role="status" data-sentence="idle">
          <Sentence kind="warn" action={buttons} hint={diagnosis}>
            {words.noProgress(idle)}
          </Sentence>
        </div>
      ) : (
        <div data-sentence={detail.status}>
          <Sentence kind="info" action={buttons}>
            {diagnosis}
          </Sentence>
        </div>
      )
    default:
      return (
        <div role="status" data-sentence={detail.status}>
          <Sentence kind={kindOf(detail)} action={buttons} hint={diagnosis}>
            {title}
          </Sentence>
        </div>
      )
  }
}

function kindOf({ status, erros }: Detail): 'good' | 'info' | 'warn' | 'bad' {
  if (status === 'ERRO') return 'bad'
  if (status === 'PAUSADO') return 'warn'
  if (status === 'CANCELADO') return 'info'
  return erros > 0 ? 'warn' : 'good'
}

function Stalled({ detail }: { detail: Detail }) {
  const words = useMessages(executionMessages)
  const { travado_motivo: reason, rota_origem: route, tentativas_retry: used, max_retries: most } = detail
  return (
    <>
      {reason !== null && <span class="block text-ink">{capital(reason)}</span>}
      <span class="block">{capital(restOf(detail.diagnostico, reason))}</span>
      <span class="block">
        {words.stalledFacts(route, used, most)}
        {detail.ultimo_codigo_processado !== null && ` · ${words.lastOne(detail.ultimo_codigo_processado)}`}
      </span>
    </>
  )
}

/** The sentence repeats the reason; what comes after it says what to press. */
function restOf(diagnosis: string, reason: string | null): string {
  const at = reason === null ? -1 : diagnosis.indexOf(reason)
  return reason === null || at < 0 ? diagnosis : diagnosis.slice(at + reason.length).replace(/^[\s:;,.]+/, '')
}

function Buttons({ detail: { status, erros }, actions }: { detail: Detail; actions: ExecutionActions }) {
  const words = useMessages(executionMessages)
  const mayAct = useCan('operator')
  if (!mayAct) return undefined
  const { isBusy } = actions
  const mayRetry = erros > 0 && status !== 'CANCELADO'
  return (
    <>
      {status === 'TRAVADO' && (
        <Button look="primary" icon={StepForward} busy={isBusy} onClick={() => void actions.resume()}>
          {words.resume}
        </Button>
      )}
      {status === 'PAUSADO' && (
        <Button look="primary" icon={Play} busy={isBusy} onClick={() => void actions.goOn()}>
          {words.goOn}
        </Button>
      )}
      {mayRetry && (
        <Button
          look={status === 'CONCLUIDO' || status === 'ERRO' ? 'primary' : 'secondary'}
          icon={RotateCw}
          busy={isBusy}
          onClick={() => void actions.retryErrors()}
        >
          {words.retryErrors}
        </Button>
      )}
    </>
  )
}
