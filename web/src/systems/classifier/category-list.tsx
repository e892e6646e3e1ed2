/** The number of documents of each category; a click shows the documents of the category. */
import { Card } from '../../components/card.tsx'
import { EmptyState } from '../../components/states.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import type { Result } from './api-types.ts'
import { executionMessages } from './execution-messages.ts'

interface CategoryListProps {
  results: readonly Result[]
  selected: string
  onSelect(category: string): void
}

export function countsOf(results: readonly Result[]): (readonly [category: string, count: number])[] {
  const counts = new Map<string, number>()
  for (const { categoria } of results) if (categoria !== null) counts.set(categoria, (counts.get(categoria) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
}

export function CategoryList({ results, selected, onSelect }: CategoryListProps) {
  const words = useMessages(executionMessages)
  const format = useFormat()
  const counts = countsOf(results)
  const most = counts[0]?.[1] ?? 1
  return (
    <Card title={words.categories} class="flex flex-col">
      {counts.length === 0 ? (
        <EmptyState title={words.noCategory} />
      ) : (
        <ul class="-mx-2 flex max-h-72 flex-col gap-0.5 overflow-y-auto">
          {counts.map(([category, count]) => (
            <li key={category}>
              <button
                type="button"
                aria-pressed={selected === category}
                title={words.showOnly(category, format.number(count))}
                class={classes(
                  'w-full rounded-md px-2 py-1 text-left',
                  selected === category ? 'bg-hover' : 'hover:bg-hover',
                )}
                onClick={() => onSelect(selected === category ? '' : category)}
              >
                <span class="flex items-baseline gap-2">
                  <span class="min-w-0 flex-1 truncate">{category}</span>
                  <span class="text-sm text-muted">{format.number(count)}</span>
                </span>
                <span class="mt-1 block h-1 overflow-hidden rounded-full bg-idle-soft" aria-hidden="true">
                  <span
                    class="block h-full rounded-full bg-accent-fill"
                    style={{ width: `${(count / most) * 100}%` }}
                  />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
