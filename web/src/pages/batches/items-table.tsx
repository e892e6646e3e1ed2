/** The items of a batch: filter by state, search by ref, select and act, scroll over any number. */
import { RotateCw, SkipForward, X } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { ApiError, call } from '../../api/client.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Select } from '../../components/field.tsx'
import { PagedTable } from '../../components/paged-table.tsx'
import { SearchInput } from '../../components/search-input.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { type BatchView, type ItemState, isItemState, isOpen, itemStates } from './batch-model.ts'
import { useItemColumns } from './item-columns.tsx'
import { batchMessages } from './messages.ts'
import { hasFilter, type Item, type ItemFilter, useItemRows } from './use-item-rows.ts'

interface ItemsTableProps {
  batch: BatchView
  filter: ItemFilter
  onFilter(change: Partial<Record<'state' | 'cause' | 'ref', string | undefined>>): void
  /** Scrolls to this position. */
  goTo: { index: number } | undefined
  /** Items that the map selects. */
  picked: readonly Item[] | undefined
}

export function ItemsTable({ batch, filter, onFilter, goTo, picked }: ItemsTableProps) {
  const words = useMessages(batchMessages)
  const canAct = useCan('operator')
  const [, navigate] = useLocation()
  const rows = useItemRows(batch.id, batch.total, isOpen(batch), filter)
  const [selected, setSelected] = useState<ReadonlyMap<string, Item>>(new Map())
  const columns = useItemColumns(canAct, selected, setSelected)
  useEffect(() => setSelected(new Map((picked ?? []).map(item => [item.id, item]))), [batch.id, picked])
  return (
    <Card
      flush
      title={words.items}
      hint={hasFilter(filter) ? undefined : words.itemCount(batch.total)}
      actions={<Filters filter={filter} onFilter={onFilter} />}
    >
      {selected.size > 0 && (
        <Selection
          batch={batch}
          items={[...selected.values()]}
          onLeft={items => setSelected(new Map(items.map(item => [item.id, item])))}
          onChanged={rows.refresh}
        />
      )}
      {rows.error !== null && <ErrorState error={rows.error} onRetry={rows.refresh} />}
      <StillMark since={rows.stillSince} isReading={rows.isReading} onRefresh={rows.refresh} />
      <PagedTable
        label={words.items}
        columns={columns}
        count={rows.count}
        rowAt={rows.rowAt}
        onRange={rows.onRange}
        onRow={item => navigate(`/jobs/${item.id}`)}
        goTo={goTo}
        empty={
          <EmptyState title={rows.isReading ? words.unknownAt : hasFilter(filter) ? words.noItems : words.noItemsYet} />
        }
      />
    </Card>
  )
}

function Filters({ filter, onFilter }: Pick<ItemsTableProps, 'filter' | 'onFilter'>) {
  const words = useMessages(batchMessages)
  const states = useMessages(stateMessages)
  return (
    <div class="flex flex-wrap items-center justify-end gap-2 py-1">
      {filter.cause !== undefined && (
        <button
          type="button"
          class="flex items-center gap-1"
          aria-label={words.clear}
          onClick={() => onFilter({ cause: undefined, state: undefined })}
        >
          <Badge tone="bad" icon={X}>
            {words.causeFilter(filter.cause.slice(0, 8))}
          </Badge>
        </button>
      )}
      <div class="w-40">
        <SearchInput
          label={words.searchRef}
          value={filter.ref ?? ''}
          onSearch={ref => onFilter(ref === '' ? { ref } : { ref, state: undefined, cause: undefined })}
        />
      </div>
      <div class="w-36">
        <Select
          label={words.stateFilter}
          hideLabel
          value={filter.state ?? ''}
          onSelect={state =>
            onFilter({ state: isItemState(state) ? state : undefined, cause: undefined, ref: undefined })
          }
          options={[
            { value: '', label: words.allItems },
            ...itemStates.map((state: ItemState) => ({ value: state, label: states[state] })),
          ]}
        />
      </div>
    </div>
  )
}

const reasonOf = (error: unknown, noAnswer: string): string =>
  error instanceof ApiError && error.code === 'network'
    ? noAnswer
    : error instanceof Error
      ? error.message
      : String(error)

interface SelectionProps {
  batch: BatchView
  items: readonly Item[]
  /** Called with the items that stay selected. */
  onLeft(items: readonly Item[]): void
  onChanged(): void
}

/** The item is gone, or its state does not allow the action; the same request for another item may succeed. */
const isOfItem = (error: unknown) => error instanceof ApiError && (error.status === 404 || error.status === 409)

/**
 * Acts on each selected item. An item whose state does not allow the action stays as it is, and is counted. Any other error (no answer, no
 * permission, a limit) ends the action: the report has its words, and the items without an answer stay selected.
 */
function Selection({ batch, items, onLeft, onChanged }: SelectionProps) {
  const words = useMessages(batchMessages)
  const toast = useToast()
  const [asked, setAsked] = useState<'retry' | 'skip'>()
  const [busy, setBusy] = useState(false)
  const act = async (action: 'retry' | 'skip') => {
    setBusy(true)
    const counts = { changed: 0, refused: 0 }
    let problem: unknown
    for (const { id: item } of items) {
      const params = { id: batch.id, item }
      try {
        const { changed } =
          action === 'retry'
            ? await call('POST /api/v1/batches/{id}/items/{item}/retry', { params })
            : await call('POST /api/v1/batches/{id}/items/{item}/skip', { params, body: {} })
        counts[changed ? 'changed' : 'refused']++
      } catch (error) {
        if (!isOfItem(error)) {
          problem = error
          break
        }
        counts.refused++
      }
    }
    setBusy(false)
    setAsked(undefined)
    const { changed, refused } = counts
    if (problem === undefined) toast.show(refused === 0 ? 'good' : 'info', words.didSome(changed, refused))
    else
      toast.show('bad', words.didNotAll(changed, items.length - changed - refused, reasonOf(problem, words.noAnswer)))
    onChanged()
    onLeft(items.slice(changed + refused))
  }
  const texts = useMemo(
    () => ({
      retry: { name: words.retrySelected, what: words.retrySelectedWhat(items.length) },
      skip: { name: words.skipSelected, what: words.skipSelectedWhat(items.length) },
    }),
    [words, items.length],
  )
  return (
    <div class="flex flex-wrap items-center gap-2 border-b bg-accent-soft px-4 py-1.5">
      <span class="font-medium" role="status">
        {words.selected(items.length)}
      </span>
      <span class="ml-auto flex flex-wrap gap-2">
        <Button size="sm" icon={RotateCw} onClick={() => setAsked('retry')}>
          {words.retrySelected}
        </Button>
        <Button size="sm" icon={SkipForward} onClick={() => setAsked('skip')}>
          {words.skipSelected}
        </Button>
        <Button size="sm" look="quiet" icon={X} onClick={() => onLeft([])}>
          {words.clearSelection}
        </Button>
      </span>
      {asked !== undefined && (
        <Confirm
          title={texts[asked].name}
          action={texts[asked].name}
          busy={busy}
          onConfirm={() => void act(asked)}
          onClose={() => setAsked(undefined)}
        >
          {texts[asked].what}
        </Confirm>
      )}
    </div>
  )
}
