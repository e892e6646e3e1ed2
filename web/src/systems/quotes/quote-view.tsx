/** One quote: its steps, its result, its prices with their evidence, and the kept answers. */
import { Ban, Tags, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Answer } from '../../api/client.ts'
import { useAction, useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { JsonTree } from '../../components/json-tree.tsx'
import { Progress } from '../../components/progress.tsx'
import { Age } from '../../components/relative-time.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { Stat } from '../../components/stat.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { StatusBadge } from '../shared/status-badge.tsx'
import { quotesMessages } from './messages.ts'
import { PricePlot } from './price-plot.tsx'
import { PriceTable } from './price-table.tsx'
import { QuoteSentence } from './quote-sentence.tsx'
import { Stepper } from './stepper.tsx'

type Quote = Answer<'GET /api/quotes/{id}'>

const refreshMs = 1500
const isOver = ({ status }: Quote) => status === 'DONE' || status === 'ERROR' || status === 'CANCELLED'

export function QuoteView({ id }: { id: string }) {
  const words = useMessages(quotesMessages)
  const [isFinal, setIsFinal] = useState(false)
  const quote = useApi('GET /api/quotes/{id}', { params: { id } }, { every: isFinal ? false : refreshMs })
  if (quote.data !== undefined && isOver(quote.data) !== isFinal) setIsFinal(isOver(quote.data))
  if (quote.error?.status === 404)
    return (
      <EmptyState
        icon={Tags}
        title={words.notFound}
        action={
          <Link href="/cotacoes/" class="font-medium text-accent hover:underline">
            {words.back}
          </Link>
        }
      />
    )
  return <Loading of={quote}>{data => <OneQuote quote={data} />}</Loading>
}

function OneQuote({ quote }: { quote: Quote }) {
  const words = useMessages(quotesMessages)
  const { result, prices, pages_without_price, status } = quote
  const isRunning = status === 'PROCESSING'
  return (
    <>
      <PageHeader
        title={quote.description}
        parent={{ href: '/cotacoes/', name: words.title }}
        mark={
          <>
            <StatusBadge status={status} />
            {quote.simulado && <SimulatedMark names={[]} />}
          </>
        }
        actions={<Actions quote={quote} />}
      />
      <div class="flex flex-col gap-4">
        <QuoteSentence quote={quote} />
        <Card>
          <div class="flex flex-col gap-4">
            <Stepper quote={quote} />
            {isRunning && (
              <Progress
                label={words.progress}
                total={100}
                parts={[{ value: quote.progress_percentage, tone: 'busy', label: words.progress }]}
                done={quote.progress_percentage}
              />
            )}
            {isRunning && (
              <p class="text-sm text-muted">
                {words.attempt(quote.attempt_number)}
                {quote.last_heartbeat !== null && (
                  <>
                    , {words.heartbeat} <Age since={quote.last_heartbeat} />
                  </>
                )}
              </p>
            )}
          </div>
        </Card>
        {result !== null && <Result quote={quote} />}
        {prices.length > 0 && (
          <Card title={words.prices(prices.length)} flush>
            <div class="border-b p-4">
              <PricePlot prices={prices} result={result?.price ?? null} />
            </div>
            <PriceTable prices={prices} />
          </Card>
        )}
        {pages_without_price.length > 0 && (
          <Card title={words.withoutPrice(pages_without_price.length)}>
            <ul class="flex flex-col gap-1">
              {pages_without_price.map(({ n, shop, reason }) => (
                <li key={n}>
                  <span class="font-medium">{shop}</span> {reason !== null && <span class="text-muted">{reason}</span>}
                </li>
              ))}
            </ul>
          </Card>
        )}
        <Card title={words.details}>
          <div class="grid gap-4 lg:grid-cols-3">
            <Kept title={words.analysis} value={quote.claude_payload_json} />
            <Kept title={words.search} value={quote.google_shopping_response_json} />
            <Kept title={words.resume} value={quote.resume_data} />
          </div>
        </Card>
      </div>
    </>
  )
}

function Result({ quote: { result } }: { quote: Quote }) {
  const words = useMessages(quotesMessages)
  const format = useFormat()
  if (result === null) return null
  const { price, currency, confidence, confidence_reason } = result
  return (
    <Card>
      <Stat
        label={words.result}
        value={price === null ? words.noPrice : format.money(price, currency)}
        hint={[words.confidence[confidence], confidence_reason].filter(text => text !== null).join(': ')}
        tone={price === null ? 'warn' : 'idle'}
      />
    </Card>
  )
}

const Kept = ({ title, value }: { title: string; value: unknown }) =>
  value === null || value === undefined ? null : (
    <section>
      <h3 class="mb-1 text-sm font-medium text-muted">{title}</h3>
      <JsonTree value={value} />
    </section>
  )

function Actions({ quote }: { quote: Quote }) {
  const words = useMessages(quotesMessages)
  const may = useCan('operator')
  const toast = useToast()
  const [, navigate] = useLocation()
  const [asks, setAsks] = useState(false)
  const cancel = useAction('POST /api/quotes/{id}/cancel')
  const erase = useAction('DELETE /api/quotes/{id}')
  const params = { id: quote.id }
  const onError = (error: Error) => toast.show('bad', error.message)
  if (!may) return null
  return (
    <>
      {!isOver(quote) && (
        <Button
          icon={Ban}
          busy={cancel.isPending}
          onClick={() => cancel.mutate({ params }, { onSuccess: () => toast.show('good', words.cancelled), onError })}
        >
          {words.cancel}
        </Button>
      )}
      <Button look="danger" icon={Trash2} onClick={() => setAsks(true)}>
        {words.erase}
      </Button>
      {asks && (
        <Confirm
          title={words.eraseTitle}
          action={words.erase}
          danger
          busy={erase.isPending}
          onClose={() => setAsks(false)}
          onConfirm={() =>
            erase.mutate(
              { params },
              {
                onSuccess: () => {
                  toast.show('good', words.erased)
                  navigate('/cotacoes/')
                },
                onError,
              },
            )
          }
        >
          {words.eraseText}
        </Confirm>
      )}
    </>
  )
}
