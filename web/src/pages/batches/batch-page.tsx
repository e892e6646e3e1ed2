/** One batch: how far it is, why it stands still, what failed, its items, and the buttons that put it right. */
import { Layers, Play, RotateCw } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'react'
import { Link, useParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Explanation, type ExplanationData } from '../../components/explanation.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../components/states.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { useFilters } from '../../lib/filters.ts'
import { scrollTo } from '../../lib/motion.ts'
import { BatchActionsList } from './batch-actions-list.tsx'
import { type Asked, BatchDialog, possible } from './batch-dialogs.tsx'
import { BatchHeader } from './batch-header.tsx'
import { type BatchView, isItemState, isOpen } from './batch-model.ts'
import { BatchProgress } from './batch-progress.tsx'
import { FailureGroups } from './failure-groups.tsx'
import { ItemMap } from './item-map.tsx'
import { ItemsTable } from './items-table.tsx'
import { batchMessages } from './messages.ts'
import { useBatch } from './use-batch.ts'
import type { Item } from './use-item-rows.ts'

const filterNames = ['state', 'cause', 'ref'] as const
const explainEveryMs = 5000

export default function BatchPage() {
  const { id = '' } = useParams()
  const words = useMessages(batchMessages)
  const read = useBatch(id)
  if (read.data !== undefined) return <Found key={id} batch={read.data} />
  if (read.error === null) return <Skeleton lines={8} />
  if (read.error.status !== 404) return <ErrorState error={read.error} onRetry={() => void read.refetch()} />
  return (
    <>
      <PageHeader title={words.notFound} parent={{ href: '/batches', name: words.title }} />
      <EmptyState
        icon={Layers}
        title={words.notFound}
        action={
          <Link href="/batches" class="font-medium text-accent hover:underline">
            {words.backToList}
          </Link>
        }
      >
        {words.notFoundHint}
      </EmptyState>
    </>
  )
}

function Found({ batch }: { batch: BatchView }) {
  const [asked, ask] = useState<Asked>()
  const [filters, change] = useFilters(filterNames)
  const [goTo, setGoTo] = useState<{ index: number }>()
  const [picked, pick] = useState<readonly Item[]>()
  const { data: explanation } = useApi(
    'GET /api/v1/batches/{id}/explain',
    { params: { id: batch.id } },
    { every: isOpen(batch) ? explainEveryMs : false, keepPrevious: true },
  )
  const items = useRef<HTMLDivElement>(null)
  const failures = useRef<HTMLDivElement>(null)
  const show = (filter: { state: string | undefined; cause: string | undefined }) => {
    change({ ...filter, ref: undefined })
    scrollTo(items.current)
  }
  return (
    <div class="flex flex-col gap-4">
      <div class="-mb-4">
        <BatchHeader batch={batch} advised={explanation?.advice.action} onAsk={ask} />
      </div>
      <BatchExplanation
        batch={batch}
        explanation={explanation}
        onAsk={ask}
        onFailures={() => scrollTo(failures.current)}
      />
      <div class="flex flex-col gap-4 wide:flex-row wide:items-start">
        <div class="contents wide:flex wide:min-w-0 wide:flex-1 wide:flex-col wide:gap-4">
          <BatchProgress batch={batch} onState={state => show({ state, cause: undefined })} />
          <ItemMap
            batch={batch}
            onGoTo={position => {
              setGoTo({ index: position })
              show({ state: undefined, cause: undefined })
            }}
            onSelect={pick}
          />
          <div ref={items} class="order-2 scroll-mt-16">
            <ItemsTable
              batch={batch}
              filter={{ ...filters, state: isItemState(filters.state) ? filters.state : undefined }}
              onFilter={change}
              goTo={goTo}
              picked={picked}
            />
          </div>
        </div>
        <div class="contents wide:flex wide:w-[32rem] wide:flex-col wide:gap-4">
          {batch.failed > 0 && (
            <div ref={failures} class="order-1 scroll-mt-16">
              <FailureGroups batch={batch} onAsk={ask} onCause={cause => show({ state: 'failed', cause })} />
            </div>
          )}
          <div class="order-3">
            <BatchActionsList batch={batch} />
          </div>
        </div>
      </div>
      {asked !== undefined && <BatchDialog asked={asked} batch={batch} onClose={() => ask(undefined)} />}
    </div>
  )
}

interface BatchExplanationProps {
  batch: BatchView
  explanation: ExplanationData | undefined
  onAsk(asked: Asked): void
  onFailures(): void
}

function BatchExplanation({ batch, explanation: data, onAsk, onFailures }: BatchExplanationProps) {
  const words = useMessages(batchMessages)
  const canAct = useCan('operator')
  const can = possible(batch)
  if (data === undefined) return null
  const buttons: Readonly<Record<string, ComponentChildren>> = {
    resume: canAct && can.resume && (
      <Button look="primary" icon={Play} onClick={() => onAsk({ do: 'resume' })}>
        {words.resume}
      </Button>
    ),
    retry_failed: canAct && can.retry && (
      <Button look="primary" icon={RotateCw} onClick={() => onAsk({ do: 'retry' })}>
        {words.retryFailed}
      </Button>
    ),
    look_at_failures: batch.failed > 0 && <Button onClick={onFailures}>{words.lookAtFailures}</Button>,
  }
  const button = buttons[data.advice.action] || undefined
  return <Explanation of={data} {...(button === undefined ? {} : { action: button })} />
}
