/** The results of an execution: category, confidence and status of each document, filtered at once. The filters are part of the address. */
import { Search } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Input, Select } from '../../components/field.tsx'
import { EmptyState } from '../../components/states.tsx'
import type { Column } from '../../components/table.tsx'
import { VirtualTable } from '../../components/virtual-table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { statusMessages } from '../shared/messages.ts'
import { Meter } from '../shared/meter.tsx'
import { StatusBadge } from '../shared/status-badge.tsx'
import type { DocumentStatus, Result } from './api-types.ts'
import { countsOf } from './category-list.tsx'
import { DocumentDialog } from './document-dialog.tsx'
import { resultsMessages } from './results-messages.ts'

const statuses: readonly DocumentStatus[] = ['PENDENTE', 'PROCESSANDO', 'CONCLUIDO', 'ERRO', 'PULADO']
const bounds = ['50', '70', '90']

export interface Filters {
  text: string
  category: string
  status: string
  below: string
}

const names: Readonly<Record<keyof Filters, string>> = {
  text: 'busca',
  category: 'categoria',
  status: 'status',
  below: 'abaixo',
}

export function useFilters() {
  const [search, setSearch] = useSearchParams()
  const filters: Filters = {
    text: search.get(names.text) ?? '',
    category: search.get(names.category) ?? '',
    status: search.get(names.status) ?? '',
    below: search.get(names.below) ?? '',
  }
  const set = (change: Partial<Filters>) =>
    setSearch(
      before => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(change) as [keyof Filters, string][])
          if (value === '') next.delete(names[name])
          else next.set(names[name], value)
        return next
      },
      { replace: true },
    )
  return { filters, set }
}

const plain = (text: string) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const matches = ({ text, category, status, below }: Filters) => {
  const wanted = plain(text.trim())
  return (row: Result) =>
    (wanted === '' || plain(`${row.codigo} ${row.justificativa ?? ''}`).includes(wanted)) &&
    (category === '' || row.categoria === category) &&
    (status === '' || row.status === status) &&
    (below === '' || (row.confianca !== null && row.confianca * 100 < Number(below)))
}

export const confidenceTone = (value: number) => (value < 0.5 ? 'bad' : value < 0.7 ? 'warn' : 'good')

export function ResultsTab({ id, results }: { id: string; results: readonly Result[] }) {
  const words = useMessages(resultsMessages)
  const { filters, set } = useFilters()
  const [open, setOpen] = useState<string>()
  const { text, category, status, below } = filters
  const rows = useMemo(
    () => results.filter(matches({ text, category, status, below })),
    [results, text, category, status, below],
  )
  const shown = results.find(({ codigo }) => codigo === open)
  const isFiltered = text !== '' || category !== '' || status !== '' || below !== ''
  return (
    <Card flush>
      <FilterBar results={results} filters={filters} onChange={set} shown={rows.length} />
      <ResultTable
        rows={rows}
        onOpen={row => setOpen(row.codigo)}
        empty={
          <EmptyState
            icon={Search}
            title={isFiltered ? words.noMatch : words.noResults}
            action={
              isFiltered && (
                <Button onClick={() => set({ text: '', category: '', status: '', below: '' })}>{words.clear}</Button>
              )
            }
          />
        }
      />
      {shown !== undefined && <DocumentDialog execution={id} result={shown} onClose={() => setOpen(undefined)} />}
    </Card>
  )
}

interface FilterBarProps {
  results: readonly Result[]
  filters: Filters
  shown: number
  onChange(change: Partial<Filters>): void
}

function FilterBar({ results, filters, shown, onChange }: FilterBarProps) {
  const words = useMessages(resultsMessages)
  const statusNames = useMessages(statusMessages)
  const format = useFormat()
  const categories = useMemo(() => countsOf(results).map(([category]) => category), [results])
  const option = (value: string, label = value) => ({ value, label })
  return (
    <div class="flex flex-wrap items-center gap-2 border-b px-4 py-2">
      <div class="min-w-48 flex-1">
        <Input
          label={words.search}
          hideLabel
          type="search"
          placeholder={words.search}
          value={filters.text}
          onInput={event => onChange({ text: event.currentTarget.value })}
        />
      </div>
      <div class="w-44 max-sm:flex-1">
        <Select
          label={words.category}
          hideLabel
          value={filters.category}
          onSelect={value => onChange({ category: value })}
          options={[option('', words.anyCategory), ...categories.map(each => option(each))]}
        />
      </div>
      <div class="w-36 max-sm:flex-1">
        <Select
          label={words.status}
          hideLabel
          value={filters.status}
          onSelect={value => onChange({ status: value })}
          options={[option('', words.anyStatus), ...statuses.map(each => option(each, statusNames[each]))]}
        />
      </div>
      <div class="w-48 max-sm:flex-1">
        <Select
          label={words.confidence}
          hideLabel
          value={filters.below}
          onSelect={value => onChange({ below: value })}
          options={[
            option('', words.anyConfidence),
            ...bounds.map(each => option(each, words.below(format.percent(Number(each))))),
          ]}
        />
      </div>
      <span role="status" class="text-sm text-muted">
        {words.shown(shown, results.length)}
      </span>
    </div>
  )
}

interface ResultTableProps {
  rows: readonly Result[]
  onOpen(row: Result): void
  empty: preact.ComponentChildren
}

function ResultTable({ rows, onOpen, empty }: ResultTableProps) {
  const words = useMessages(resultsMessages)
  const columns: readonly Column<Result>[] = [
    {
      id: 'document',
      header: words.document,
      cell: row => (
        <button
          type="button"
          class="max-w-full truncate text-left font-medium hover:underline"
          aria-label={words.open(row.codigo)}
          onClick={event => {
            event.stopPropagation()
            onOpen(row)
          }}
        >
          {row.codigo}
        </button>
      ),
    },
    {
      id: 'category',
      header: words.category,
      cell: row =>
        row.categoria === null ? (
          <span class="text-muted">{row.erro_mensagem ?? words.none}</span>
        ) : (
          <span class="flex items-center gap-2">
            <span class="truncate">{row.categoria}</span>
            {row.revisao === 'CORRIGIDO' && <Badge tone="accent">{words.correctedMark}</Badge>}
            {row.revisar && <Badge tone="warn">{words.toReview}</Badge>}
          </span>
        ),
    },
    {
      id: 'confidence',
      header: words.confidence,
      width: '9rem',
      hide: 'nav',
      cell: row =>
        row.confianca === null ? (
          <span class="text-muted">{words.none}</span>
        ) : (
          <Meter value={row.confianca} tone={confidenceTone(row.confianca)} />
        ),
    },
    {
      id: 'status',
      header: words.status,
      width: '8.5rem',
      hide: 'sm',
      cell: row => <StatusBadge status={row.status} />,
    },
  ]
  return (
    <VirtualTable
      label={words.document}
      columns={columns}
      rows={rows}
      keyOf={row => row.codigo}
      onRow={onOpen}
      height="32rem"
      empty={empty}
    />
  )
}
