/** One execution: how it is, its numbers as they change, its results and errors, and the actions of those who may act. */
import { Ban, Download, Pause, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Menu, type MenuItem } from '../../components/menu.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { Loading } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { withBase } from '../../lib/base-path.ts'
import { LostConnection } from '../shared/lost-connection.tsx'
import { StatusBadge } from '../shared/status-badge.tsx'
import { type Detail, isAtWork, isOver, shownStatus } from './api-types.ts'
import { CategoryList } from './category-list.tsx'
import { DocumentMap } from './document-map.tsx'
import { ErrorsTab } from './errors-tab.tsx'
import { executionMessages } from './execution-messages.ts'
import { ExecutionProgress } from './execution-progress.tsx'
import { ExecutionSentence } from './execution-sentence.tsx'
import { classifierMessages } from './messages.ts'
import { paths } from './paths.ts'
import { ResultsTab, useFilters } from './results-tab.tsx'
import { type ExecutionActions, useExecutionActions } from './use-actions.ts'
import { type Pace, useExecution } from './use-execution.ts'
import { useResults } from './use-results.ts'

export function ExecutionPage({ id }: { id: string }) {
  const { detail, pace, live } = useExecution(id)
  return (
    <>
      <LostConnection status={live} />
      <Loading of={detail} lines={8}>
        {data => <Shown id={id} detail={data} readAt={detail.dataUpdatedAt} pace={pace} />}
      </Loading>
    </>
  )
}

interface ShownProps {
  id: string
  detail: Detail
  readAt: number
  pace: Pace
}

function Shown({ id, detail, readAt, pace }: ShownProps) {
  const actions = useExecutionActions(id)
  const results = useResults(id, detail.status, detail.total)
  const { filters, set } = useFilters()
  const rows = results.data ?? []
  return (
    <div class="flex flex-col gap-4">
      <Header id={id} detail={detail} actions={actions} />
      <ExecutionSentence detail={detail} readAt={readAt} actions={actions} />
      <div class="grid gap-4 lg:grid-cols-[minmax(0,2fr)_minmax(16rem,1fr)]">
        <ExecutionProgress detail={detail} pace={pace} />
        <CategoryList results={rows} selected={filters.category} onSelect={category => set({ category })} />
      </div>
      <DocumentMap execution={id} results={rows} />
      <Parts id={id} detail={detail}>
        {tab => (tab === 'errors' ? <ErrorsTab id={id} results={rows} /> : <ResultsTab id={id} results={rows} />)}
      </Parts>
    </div>
  )
}

function Header({ id, detail, actions }: { id: string; detail: Detail; actions: ExecutionActions }) {
  const words = useMessages(executionMessages)
  const list = useMessages(classifierMessages)
  const { data: execution } = useApi('GET /execucoes/{id}', { params: { id } })
  const mayAct = useCan('operator')
  const [asks, setAsks] = useState<'cancel' | 'erase'>()
  const over = isOver(detail.status)
  const left = detail.pendentes + detail.processando
  const danger: MenuItem[] = [
    ...(over ? [] : [{ label: words.cancel, icon: Ban, danger: true, onSelect: () => setAsks('cancel') }]),
    ...(over ? [{ label: words.erase, icon: Trash2, danger: true, onSelect: () => setAsks('erase') }] : []),
  ]
  return (
    <div class="-mb-4">
      <PageHeader
        title={execution?.projeto ?? words.execution(id)}
        parent={{ href: paths.home, name: list.title }}
        mark={
          <>
            <StatusBadge status={shownStatus(detail)} />
            {detail.simulado && <SimulatedMark names={['openrouter']} />}
          </>
        }
        subtitle={
          execution && (
            <>
              {words.execution(id)} · {list.documentCount(execution.total)} · {words.by(execution.criado_por)} ·{' '}
              <RelativeTime at={execution.criado_em} />
            </>
          )
        }
        actions={
          <>
            {mayAct && isAtWork(detail.status) && (
              <Button icon={Pause} busy={actions.isBusy} onClick={() => void actions.pause()}>
                {words.pause}
              </Button>
            )}
            <Menu icon={Download} label={words.download} items={downloads(id, words)} />
            {mayAct && <Menu items={danger} />}
          </>
        }
      />
      {asks === 'cancel' && (
        <Confirm
          title={words.cancelTitle}
          action={words.cancel}
          danger
          busy={actions.isBusy}
          onConfirm={() => void actions.cancel().then(() => setAsks(undefined))}
          onClose={() => setAsks(undefined)}
        >
          {words.cancelHint(left)}
        </Confirm>
      )}
      {asks === 'erase' && (
        <Confirm
          title={words.eraseTitle}
          action={words.erase}
          danger
          busy={actions.isBusy}
          onConfirm={() => void actions.erase()}
          onClose={() => setAsks(undefined)}
        >
          {words.eraseHint(detail.total)}
        </Confirm>
      )}
    </div>
  )
}

const downloads = (id: string, words: Record<'csv' | 'xlsx', string>): MenuItem[] =>
  (['csv', 'xlsx'] as const).map(format => ({
    label: words[format],
    // The answer is an attachment, so that the page stays.
    onSelect: () => location.assign(withBase(`/execucoes/${encodeURIComponent(id)}/resultados.${format}`)),
  }))

type TabName = 'results' | 'errors'

function Parts({
  id,
  detail,
  children,
}: {
  id: string
  detail: Detail
  children(tab: TabName): preact.ComponentChildren
}) {
  const words = useMessages(executionMessages)
  const [search, setSearch] = useSearchParams()
  const tab: TabName = search.get('aba') === 'erros' ? 'errors' : 'results'
  const select = (next: TabName) =>
    setSearch(
      before => {
        const changed = new URLSearchParams(before)
        if (next === 'errors') changed.set('aba', 'erros')
        else changed.delete('aba')
        return changed
      },
      { replace: true },
    )
  return (
    <div>
      <Tabs
        label={words.execution(id)}
        tabs={[
          { id: 'results', label: words.results, count: detail.total },
          { id: 'errors', label: words.errors, count: detail.erros },
        ]}
        selected={tab}
        onSelect={select}
      >
        {children(tab)}
      </Tabs>
    </div>
  )
}
