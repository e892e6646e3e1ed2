/** Executions, the newest first, with live progress; filtered by project and status. The filters are part of the address. */
import { FlaskConical, FolderSearch, ScanText } from 'lucide-react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Select } from '../../components/field.tsx'
import { Progress } from '../../components/progress.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { SimulatedMark } from '../../components/simulated-mark.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { statusMessages } from '../shared/messages.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { type Execution, isAtWork, type Status, shownStatus } from './api-types.ts'
import { classifierMessages } from './messages.ts'
import { paths } from './paths.ts'
import { useSample } from './use-sample.ts'

const statuses: readonly Status[] = ['PENDENTE', 'EM_ANDAMENTO', 'PAUSADO', 'TRAVADO', 'CONCLUIDO', 'ERRO', 'CANCELADO']

export function ExecutionList() {
  const words = useMessages(classifierMessages)
  const [search] = useSearchParams()
  const project = search.get('projeto') ?? ''
  const status = statuses.find(each => each === search.get('status'))
  const query = { ...(project === '' ? {} : { projeto_id: project }), ...(status === undefined ? {} : { status }) }
  const list = useApiList('GET /execucoes', { query }, { every: 3000 })
  const isFiltered = project !== '' || status !== undefined
  return (
    <Card flush>
      {(isFiltered || (list.data?.items.length ?? 0) > 0) && <Filters project={project} status={status ?? ''} />}
      <StillMark since={list.data?.stillSince} isReading={list.isFetching} onRefresh={() => void list.refetch()} />
      <Loading of={list} lines={6}>
        {({ items }) => (
          <>
            <ExecutionTable
              rows={items}
              empty={isFiltered ? <EmptyState icon={FolderSearch} title={words.noMatch} /> : <FirstTime />}
            />
            {list.hasNextPage && (
              <div class="border-t p-2 text-center">
                <Button look="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                  {words.more}
                </Button>
              </div>
            )}
          </>
        )}
      </Loading>
    </Card>
  )
}

function Filters({ project, status }: { project: string; status: string }) {
  const words = useMessages(classifierMessages)
  const names = useMessages(statusMessages)
  const [, setSearch] = useSearchParams()
  const projects = useApiList('GET /projetos', { query: { limit: 500 } })
  const set = (name: string, value: string) =>
    setSearch(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return (
    <div class="flex flex-wrap gap-2 border-b px-4 py-2">
      <div class="w-52 max-sm:flex-1">
        <Select
          label={words.project}
          hideLabel
          value={project}
          onSelect={value => set('projeto', value)}
          options={[
            { value: '', label: words.allProjects },
            ...(projects.data?.items ?? []).map(({ id, nome }) => ({ value: id, label: nome })),
          ]}
        />
      </div>
      <div class="w-44 max-sm:flex-1">
        <Select
          label={words.status}
          hideLabel
          value={status}
          onSelect={value => set('status', value)}
          options={[
            { value: '', label: words.allStatuses },
            ...statuses.map(each => ({ value: each, label: names[each] })),
          ]}
        />
      </div>
    </div>
  )
}

function ExecutionTable({ rows, empty }: { rows: readonly Execution[]; empty: preact.ComponentChildren }) {
  const words = useMessages(classifierMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const columns: readonly Column<Execution>[] = [
    {
      id: 'project',
      header: words.project,
      cell: row => (
        <Link
          href={paths.execution(row.id)}
          class="block min-w-0 hover:underline"
          onClick={(event: MouseEvent) => event.stopPropagation()}
        >
          <span class="block truncate font-medium">{row.projeto}</span>
          <span class="block truncate text-sm text-muted">
            {words.execution(row.id)}
            <span class="sm:hidden">
              {' · '}
              {format.number(row.concluidos + row.erros + row.pulados)} / {format.number(row.total)}
            </span>
          </span>
        </Link>
      ),
    },
    {
      id: 'status',
      header: words.status,
      width: '11rem',
      cell: row => (
        <span class="flex flex-wrap items-center gap-1">
          <StatusBadge status={shownStatus(row)} />
          {row.simulado && <SimulatedMark />}
        </span>
      ),
    },
    { id: 'progress', header: words.progress, cell: row => <Bar of={row} />, hide: 'sm' },
    {
      id: 'errors',
      header: words.errors,
      align: 'right',
      width: '5rem',
      hide: 'nav',
      cell: row => (row.erros > 0 ? <span class="font-medium text-bad">{format.number(row.erros)}</span> : '0'),
    },
    {
      id: 'cost',
      header: words.cost,
      align: 'right',
      width: '6rem',
      hide: 'lg',
      cell: row => format.money(row.custo_usd, row.moeda),
    },
    {
      id: 'created',
      header: words.created,
      align: 'right',
      width: '7rem',
      hide: 'nav',
      cell: row => <RelativeTime at={row.criado_em} />,
    },
  ]
  return (
    <Table
      label={words.executions}
      columns={columns}
      rows={rows}
      keyOf={row => row.id}
      onRow={row => navigate(paths.execution(row.id))}
      empty={empty}
    />
  )
}

function Bar({ of: { id, total, concluidos, erros, pulados, status } }: { of: Execution }) {
  const words = useMessages(classifierMessages)
  const format = useFormat()
  const ended = concluidos + erros + pulados
  return (
    <div class="flex items-center gap-3">
      <div class="min-w-0 flex-1">
        <Progress
          label={`${words.progress}: ${words.execution(id)}`}
          total={total}
          parts={[
            { value: concluidos, tone: 'good', label: words.done },
            { value: erros, tone: 'bad', label: words.failed },
            { value: pulados, tone: 'idle', label: words.skipped },
          ]}
        />
      </div>
      <span class={`w-24 shrink-0 text-right text-sm ${isAtWork(status) ? '' : 'text-muted'}`}>
        {format.number(ended)} / {format.number(total)}
      </span>
    </div>
  )
}

function FirstTime() {
  const words = useMessages(classifierMessages)
  const [, navigate] = useLocation()
  const mayAct = useCan('operator')
  const sample = useSample()
  return (
    <EmptyState
      icon={FolderSearch}
      title={words.noExecutions}
      action={
        mayAct && (
          <div class="flex flex-wrap justify-center gap-2">
            <Button look="primary" icon={ScanText} onClick={() => navigate(paths.create)}>
              {words.newExecution}
            </Button>
            <Button icon={FlaskConical} busy={sample.isBusy} onClick={() => void sample.start()}>
              {words.trySample}
            </Button>
          </div>
        )
      }
    >
      {mayAct ? words.noExecutionsHint : words.noExecutionsViewer}
    </EmptyState>
  )
}
