/** The columns of the table of items. */
import { useMemo } from 'react'
import { Link } from 'wouter'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import type { Column } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { batchMessages } from './messages.ts'
import type { Item } from './use-item-rows.ts'

const longest = 200

/** The error, or the result on one line. */
function outcomeOf({ error, result, omitted }: Item): string {
  if (error !== null) return error.message
  if (omitted?.result !== undefined) return '…'
  return result === null || result === undefined ? '' : JSON.stringify(result).slice(0, longest)
}

function tookOf({ started_at, finished_at }: Item): number | null {
  return started_at === null || finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at)
}

export function useItemColumns(
  canSelect: boolean,
  selected: ReadonlyMap<string, Item>,
  onSelect: (selected: ReadonlyMap<string, Item>) => void,
): readonly Column<Item>[] {
  const words = useMessages(batchMessages)
  const format = useFormat()
  return useMemo((): readonly Column<Item>[] => {
    const toggle = (item: Item) => {
      const next = new Map(selected)
      if (!next.delete(item.id)) next.set(item.id, item)
      onSelect(next)
    }
    const select: Column<Item> = {
      id: 'select',
      header: <span class="sr-only">{words.selection}</span>,
      width: '2rem',
      cell: item => (
        <input
          type="checkbox"
          class="block accent-[var(--accent-fill)]"
          aria-label={words.select(item.ref ?? item.id)}
          checked={selected.has(item.id)}
          onClick={event => event.stopPropagation()}
          onChange={() => toggle(item)}
        />
      ),
    }
    return [
      ...(canSelect ? [select] : []),
      {
        id: 'ref',
        header: words.ref,
        cell: item => (
          <Link
            href={`/jobs/${item.id}`}
            class="font-medium hover:underline"
            onClick={event => event.stopPropagation()}
          >
            {item.ref ?? `#${item.id}`}
          </Link>
        ),
      },
      { id: 'state', header: words.state, width: '8rem', cell: ({ state }) => <StateBadge state={state} /> },
      {
        id: 'attempts',
        header: words.attempts,
        align: 'right',
        width: '6rem',
        hide: 'nav',
        cell: ({ starts }) => <span class={starts > 1 ? '' : 'text-faint'}>{format.number(starts)}</span>,
      },
      {
        id: 'took',
        header: words.took,
        align: 'right',
        width: '6rem',
        hide: 'nav',
        cell: item => {
          const took = tookOf(item)
          return took === null ? <span class="text-faint">–</span> : format.duration(took)
        },
      },
      {
        id: 'outcome',
        header: words.result,
        width: '36%',
        hide: 'sm',
        cell: item => (
          <span class={item.error === null ? 'font-mono text-sm text-muted' : 'text-bad'}>{outcomeOf(item)}</span>
        ),
      },
      {
        id: 'finished',
        header: words.finished,
        align: 'right',
        width: '8rem',
        hide: 'lg',
        cell: ({ finished_at }) =>
          finished_at === null ? (
            <span class="text-faint">–</span>
          ) : (
            <span class="text-muted">
              <RelativeTime at={finished_at} />
            </span>
          ),
      },
    ]
  }, [words, format, canSelect, selected, onSelect])
}
