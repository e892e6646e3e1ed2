/** The columns of the list of jobs. */
import { useMemo } from 'react'
import { Link } from 'wouter'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import type { Column } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { JobRow } from './job-model.ts'
import { jobMessages } from './messages.ts'

const longest = 200

function outcomeOf({ error, result, omitted }: JobRow): string {
  if (error !== null) return error.message
  if (omitted?.result !== undefined) return '…'
  return result === null || result === undefined ? '' : JSON.stringify(result).slice(0, longest)
}

function tookOf({ started_at, finished_at }: JobRow): number | null {
  return started_at === null || finished_at === null ? null : Date.parse(finished_at) - Date.parse(started_at)
}

function outcomeLook({ error, state }: JobRow): string {
  if (error === null) return 'font-mono text-sm text-muted'
  return state === 'skipped' || state === 'cancelled' ? 'text-muted' : 'text-bad'
}

export function useJobColumns(
  canSelect: boolean,
  /** The ids of the rows that were read. */
  all: readonly string[],
  selected: ReadonlySet<string>,
  onSelect: (selected: ReadonlySet<string>) => void,
): readonly Column<JobRow>[] {
  const words = useMessages(jobMessages)
  const format = useFormat()
  return useMemo((): readonly Column<JobRow>[] => {
    const toggle = (id: string) => {
      const next = new Set(selected)
      if (!next.delete(id)) next.add(id)
      onSelect(next)
    }
    const select: Column<JobRow> = {
      id: 'select',
      header: (
        <input
          type="checkbox"
          class="block accent-[var(--accent-fill)]"
          aria-label={words.selectAll}
          checked={all.length > 0 && all.every(id => selected.has(id))}
          onChange={event => onSelect(new Set(event.currentTarget.checked ? all : []))}
        />
      ),
      width: '2rem',
      cell: job => (
        <input
          type="checkbox"
          class="block accent-[var(--accent-fill)]"
          aria-label={words.select(job.ref ?? job.id)}
          checked={selected.has(job.id)}
          onClick={event => event.stopPropagation()}
          onChange={() => toggle(job.id)}
        />
      ),
    }
    return [
      ...(canSelect ? [select] : []),
      {
        id: 'job',
        header: words.job,
        cell: job => (
          <div class="min-w-0 leading-4">
            <Link
              href={`/jobs/${job.id}`}
              class="block truncate font-medium hover:underline"
              onClick={event => event.stopPropagation()}
            >
              {job.kind}
            </Link>
            <span class="block truncate text-sm text-faint">
              #{job.id}
              {job.ref !== null && ` · ${job.ref}`}
            </span>
          </div>
        ),
      },
      { id: 'state', header: words.state, width: '8rem', cell: ({ state }) => <StateBadge state={state} /> },
      {
        id: 'queue',
        header: words.queue,
        width: '7rem',
        hide: 'lg',
        cell: ({ queue }) => <span class="text-muted">{queue}</span>,
      },
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
        width: '5.5rem',
        hide: 'nav',
        cell: job => {
          const took = tookOf(job)
          return took === null ? <span class="text-faint">–</span> : format.duration(took)
        },
      },
      {
        id: 'outcome',
        header: words.result,
        hide: 'sm',
        cell: job => (
          <span class={outcomeLook(job)} title={job.error?.message}>
            {outcomeOf(job)}
          </span>
        ),
      },
      {
        id: 'created',
        header: words.created,
        align: 'right',
        width: '7rem',
        hide: 'sm',
        cell: ({ created_at }) => (
          <span class="text-muted">
            <RelativeTime at={created_at} />
          </span>
        ),
      },
    ]
  }, [words, format, canSelect, all, selected, onSelect])
}
