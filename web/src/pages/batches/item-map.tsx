/** The map of the items of a batch: a click opens an item, a selected range is shown or selected in the table. */
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { type CellRange, StateMap } from '../../components/state-map.tsx'
import { ErrorState } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { type BatchView, isOpen } from './batch-model.ts'
import { cellsOf, type ItemMapData, itemsOf } from './item-map-model.ts'
import { batchMessages } from './messages.ts'
import type { Item } from './use-item-rows.ts'

const readEveryMs = 2000
interface ItemMapProps {
  batch: BatchView
  /** Shows the item at this position in the table. */
  onGoTo(position: number): void
  /** Selects these items in the table. */
  onSelect(items: readonly Item[]): void
}

/** A page of items: as many can be selected at once. */
const mostSelected = 500

export function ItemMap({ batch, onGoTo, onSelect }: ItemMapProps) {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const { data, error, refetch } = useApi(
    'GET /api/v1/batches/{id}/map',
    { params: { id: batch.id } },
    { every: isOpen(batch) ? readEveryMs : false },
  )
  if (data === undefined)
    return error === null ? null : (
      <Card title={words.map}>
        <ErrorState error={error} onRetry={() => void refetch()} />
      </Card>
    )
  if (data.total === 0) return null
  const isExact = data.items_per_cell <= 1
  return (
    <Card
      title={words.map}
      hint={isExact ? words.mapHint : words.mapAggregated(format.number(Math.round(data.items_per_cell)))}
    >
      <MapCanvas batch={batch} data={data} onGoTo={onGoTo} onSelect={onSelect} />
    </Card>
  )
}

function MapCanvas({ batch, data, onGoTo, onSelect }: ItemMapProps & { data: ItemMapData }) {
  const words = useMessages(batchMessages)
  const states = useMessages(stateMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const toast = useToast()
  const cells = useMemo(() => cellsOf(data), [data])
  const textOf = (cell: number): string => {
    const [first, last] = itemsOf(cell, data)
    const state = cells[cell]
    const word = state === undefined || state === 'erased' ? '–' : states[state]
    const place = format.number(first + 1)
    return first === last ? words.mapItem(place, word) : `${words.mapRange(place, format.number(last + 1))}: ${word}`
  }
  const open = async (cell: number) => {
    const [first, last] = itemsOf(cell, data)
    if (first !== last) return onGoTo(first)
    const { items } = await call('GET /api/v1/batches/{id}/items', {
      params: { id: batch.id },
      query: { offset: first, limit: 1 },
    })
    if (items[0] !== undefined) navigate(`/jobs/${items[0].id}`)
    return undefined
  }
  return (
    <StateMap
      cells={cells}
      label={words.mapLabel}
      describe={textOf}
      onOpen={cell =>
        void open(cell).catch((error: unknown) =>
          toast.show('bad', error instanceof Error ? error.message : String(error)),
        )
      }
      selection={range => <SelectedRange batch={batch} data={data} range={range} onGoTo={onGoTo} onSelect={onSelect} />}
    />
  )
}

function SelectedRange({
  batch,
  data,
  range,
  onGoTo,
  onSelect,
}: ItemMapProps & { data: ItemMapData; range: CellRange }) {
  const words = useMessages(batchMessages)
  const format = useFormat()
  const toast = useToast()
  const canAct = useCan('operator')
  const [first] = itemsOf(range[0], data)
  const [, last] = itemsOf(range[1], data)
  const count = last - first + 1
  const select = async () => {
    try {
      const query = { offset: first, limit: count }
      const { items } = await call('GET /api/v1/batches/{id}/items', { params: { id: batch.id }, query })
      onGoTo(first)
      onSelect(items)
    } catch (error) {
      toast.show('bad', error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <span class="flex flex-wrap items-center gap-2">
      {words.mapSelection(format.number(first + 1), format.number(last + 1))}
      <Button size="sm" onClick={() => onGoTo(first)}>
        {words.mapShow}
      </Button>
      {canAct && count <= mostSelected && (
        <Button size="sm" onClick={() => void select()}>
          {words.mapSelect}
        </Button>
      )}
    </span>
  )
}
