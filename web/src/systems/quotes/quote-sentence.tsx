/** How a quote stands, in one sentence: stuck, failed or waiting; with the button that helps. */
import { Play, RotateCw } from 'lucide-react'
import type { Answer } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { useAct } from '../../layout/use-act.ts'
import { useNow } from '../../lib/now.ts'
import { quotesMessages } from './messages.ts'

type Quote = Answer<'GET /api/quotes/{id}'>

/** The server counts a quote without a sign of life for longer as stuck. */
const stuckAfterMs = 10 * 60_000

export function QuoteSentence({ quote }: { quote: Quote }) {
  const { status, error_message: reason, waiting_reason: waiting } = quote
  if (status === 'PROCESSING') return <Stuck quote={quote} />
  if (reason !== null) return <Failed quote={quote} reason={reason} />
  return waiting === null ? null : <Sentence kind="info">{waiting}</Sentence>
}

function Stuck({ quote: { id, last_heartbeat: beat } }: { quote: Quote }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  const may = useCan('operator')
  const recover = useAct('POST /api/system/recover-quote/{id}', ({ recovered }) =>
    recovered ? words.recovered : words.notStuck,
  )
  const silentMs = useNow() - (beat === null ? Number.POSITIVE_INFINITY : Date.parse(beat))
  if (silentMs < stuckAfterMs) return null
  return (
    <Sentence
      kind="warn"
      hint={words.stuckHint}
      action={
        may && (
          <Button look="primary" icon={Play} busy={recover.busy} onClick={() => void recover.run({ params: { id } })}>
            {words.recover}
          </Button>
        )
      }
    >
      {words.stuck(format.duration(silentMs))}
    </Sentence>
  )
}

function Failed({ quote: { id, status }, reason }: { quote: Quote; reason: string }) {
  const words = useMessages(quotesMessages)
  const may = useCan('operator')
  const retry = useAct('POST /api/quotes/{id}/retry', () => words.retried)
  const isError = status === 'ERROR'
  return (
    <Sentence
      kind="bad"
      hint={isError && may ? words.retryHint : undefined}
      action={
        isError &&
        may && (
          <Button look="primary" icon={RotateCw} busy={retry.busy} onClick={() => void retry.run({ params: { id } })}>
            {words.retry}
          </Button>
        )
      }
    >
      {reason}
    </Sentence>
  )
}
