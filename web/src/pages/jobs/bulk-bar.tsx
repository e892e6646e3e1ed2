/**
 * Actions on many jobs: on the selected ones, or on everything that the filter names. The server counts first; the dialog names the
 * count before the action is confirmed.
 */
import { Ban, RotateCw, Trash2, X } from 'lucide-react'
import { useState } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { type BulkAction, countJobs, runBulk, runOn } from './bulk-actions.ts'
import { bulkOf, type JobFilter } from './job-filter.ts'
import { isJobState } from './job-model.ts'
import { jobMessages } from './messages.ts'

interface BulkBarProps {
  filter: JobFilter
  selected: ReadonlySet<string>
  onClear(): void
  onChanged(): void
}

export function BulkBar({ filter, selected, onClear, onChanged }: BulkBarProps) {
  const fields = bulkOf(filter)
  if (selected.size > 0) return <SelectionBar ids={[...selected]} onClear={onClear} onChanged={onChanged} />
  if (fields === undefined) return null
  return <FilterActions filter={filter} fields={fields} onChanged={onChanged} />
}

interface SelectionBarProps {
  ids: readonly string[]
  onClear(): void
  onChanged(): void
}

function SelectionBar({ ids, onClear, onChanged }: SelectionBarProps) {
  const words = useMessages(jobMessages)
  const toast = useToast()
  const [asked, setAsked] = useState<'retry' | 'cancel'>()
  const [busy, setBusy] = useState(false)
  const act = async (action: 'retry' | 'cancel') => {
    setBusy(true)
    try {
      const changed = await runOn(action, ids)
      const refused = ids.length - changed
      toast.show(refused === 0 ? 'good' : 'info', words.someRefused(changed, refused))
    } catch (error) {
      toast.show('bad', error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
    setAsked(undefined)
    onChanged()
    onClear()
  }
  return (
    <div class="flex flex-wrap items-center gap-2 border-b bg-accent-soft px-4 py-1.5">
      <span class="font-medium" role="status">
        {words.selected(ids.length)}
      </span>
      <span class="ml-auto flex flex-wrap gap-2">
        <Button size="sm" icon={RotateCw} onClick={() => setAsked('retry')}>
          {words.retryMany}
        </Button>
        <Button size="sm" look="danger" icon={Ban} onClick={() => setAsked('cancel')}>
          {words.cancelMany}
        </Button>
        <Button size="sm" look="quiet" icon={X} onClick={onClear}>
          {words.clearSelection}
        </Button>
      </span>
      {asked !== undefined && (
        <Confirm
          title={asked === 'retry' ? words.retryMany : words.cancelMany}
          action={asked === 'retry' ? words.retryMany : words.cancelMany}
          danger={asked === 'cancel'}
          busy={busy}
          onConfirm={() => void act(asked)}
          onClose={() => setAsked(undefined)}
        >
          {asked === 'retry' ? words.retryManyWhat(ids.length) : words.cancelManyWhat(ids.length)}
        </Confirm>
      )}
    </div>
  )
}

interface FilterActionsProps {
  filter: JobFilter
  fields: NonNullable<ReturnType<typeof bulkOf>>
  onChanged(): void
}

interface Question {
  action: BulkAction
  /** undefined: the server is still counting. */
  count?: { changed: number; done: boolean }
}

const retryable = new Set([undefined, 'failed', 'skipped', 'cancelled'])
const cancellable = new Set([undefined, 'waiting', 'running', 'stalled'])
const erasable = new Set([undefined, 'succeeded', 'failed', 'skipped', 'cancelled'])

function FilterActions({ filter, fields, onChanged }: FilterActionsProps) {
  const words = useMessages(jobMessages)
  const isAdmin = useCan('admin')
  const toast = useToast()
  const [question, setQuestion] = useState<Question>()
  const [busy, setBusy] = useState(false)
  const state = isJobState(filter.state) ? filter.state : undefined
  const given = { ...fields, ...(state === undefined ? {} : { state }) }
  const report = (error: unknown) => toast.show('bad', error instanceof Error ? error.message : String(error))
  const ask = async (action: BulkAction) => {
    setQuestion({ action })
    try {
      const count = await countJobs(action, given)
      setQuestion(now => (now?.action === action ? { action, count } : now))
    } catch (error) {
      setQuestion(undefined)
      report(error)
    }
  }
  const act = async (action: BulkAction) => {
    setBusy(true)
    try {
      toast.show('good', words.bulkDone(await runBulk(action, given)))
    } catch (error) {
      report(error)
    }
    setBusy(false)
    setQuestion(undefined)
    onChanged()
  }
  const names = { retry: words.retryMany, cancel: words.cancelMany, erase: words.eraseMany }
  return (
    <div class="flex flex-wrap items-center gap-2 border-b px-4 py-1.5">
      <span class="text-sm text-muted">{words.actOnFilter}</span>
      <span class="ml-auto flex flex-wrap gap-2">
        {retryable.has(state) && (
          <Button size="sm" icon={RotateCw} onClick={() => void ask('retry')}>
            {words.retryMany}
          </Button>
        )}
        {cancellable.has(state) && (
          <Button size="sm" icon={Ban} look="danger" onClick={() => void ask('cancel')}>
            {words.cancelMany}
          </Button>
        )}
        {isAdmin && erasable.has(state) && (
          <Button size="sm" icon={Trash2} look="danger" onClick={() => void ask('erase')}>
            {words.eraseMany}
          </Button>
        )}
      </span>
      {question !== undefined && (
        <Confirm
          title={names[question.action]}
          action={names[question.action]}
          danger={question.action !== 'retry'}
          busy={busy || question.count === undefined || question.count.changed === 0}
          onConfirm={() => void act(question.action)}
          onClose={() => setQuestion(undefined)}
        >
          <span role="status">
            <What question={question} />
          </span>
        </Confirm>
      )}
    </div>
  )
}

function What({ question: { action, count } }: { question: Question }) {
  const words = useMessages(jobMessages)
  if (count === undefined) return <>{words.counting}</>
  if (count.changed === 0 && count.done) return <>{words.nothingToDo}</>
  const what = { retry: words.retryManyWhat, cancel: words.cancelManyWhat, erase: words.eraseManyWhat }[action]
  const sentence = what(count.changed)
  return <>{count.done ? sentence : words.moreThan(sentence)}</>
}
