/** Edits the limits of a queue. Limits without a field here stay as they are. */
import { useState } from 'react'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Input } from '../../components/field.tsx'
import { componentMessages } from '../../components/messages.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import type { Limits, Queue } from './limits-text.ts'
import { queuesMessages } from './messages.ts'

const names = ['concurrency', 'rate', 'rateSeconds', 'groupConcurrency', 'maxDepth'] as const
type Fields = Record<(typeof names)[number], string>

const fieldsOf = ({ concurrency, rate, per_group, max_depth }: Limits): Fields => ({
  concurrency: String(concurrency ?? ''),
  rate: String(rate?.limit ?? ''),
  rateSeconds: rate === undefined ? '' : String(rate.per_ms / 1000),
  groupConcurrency: String(per_group?.concurrency ?? ''),
  maxDepth: String(max_depth ?? ''),
})

const isUsable = (text: string) => text === '' || /^[1-9]\d{0,8}$/.test(text)
const numberOf = (text: string) => (text === '' ? undefined : Number(text))

function limitsOf(before: Limits, fields: Fields): Limits {
  const { concurrency: _, rate: __, max_depth: ___, per_group, ...rest } = before
  const { concurrency: ____, ...otherOfGroup } = per_group ?? {}
  const [concurrency, depth, ofGroup] = [fields.concurrency, fields.maxDepth, fields.groupConcurrency].map(numberOf)
  const group = { ...otherOfGroup, ...(ofGroup !== undefined && { concurrency: ofGroup }) }
  return {
    ...rest,
    ...(concurrency !== undefined && { concurrency }),
    ...(fields.rate !== '' && { rate: { limit: Number(fields.rate), per_ms: Number(fields.rateSeconds) * 1000 } }),
    ...(Object.keys(group).length > 0 && { per_group: group }),
    ...(depth !== undefined && { max_depth: depth }),
  }
}

export function LimitsDialog({ queue: { queue: name, limits }, onClose }: { queue: Queue; onClose(): void }) {
  const words = useMessages(queuesMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const save = useAction('PUT /api/v1/queues/{name}/limits')
  const [fields, setFields] = useState(() => fieldsOf(limits))
  const errorOf = (field: keyof Fields): string | undefined => {
    if (!isUsable(fields[field])) return words.wholeNumber
    const isOfRate = field === 'rate' || field === 'rateSeconds'
    return isOfRate && (fields.rate === '') !== (fields.rateSeconds === '') ? words.both : undefined
  }
  const isBad = names.some(field => errorOf(field) !== undefined)
  const run = () =>
    save.mutate(
      { params: { name }, body: limitsOf(limits, fields) },
      {
        onSuccess: () => {
          toast.show('good', words.saved(name))
          onClose()
        },
        onError: error => toast.show('bad', error.message),
      },
    )
  const input = (field: keyof Fields, hint?: string) => (
    <Input
      label={words[field]}
      inputMode="numeric"
      value={fields[field]}
      hint={hint}
      error={errorOf(field)}
      onInput={event => setFields({ ...fields, [field]: event.currentTarget.value.trim() })}
    />
  )
  return (
    <Dialog
      title={`${words.limits}: ${name}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button look="primary" disabled={isBad} busy={save.isPending} onClick={run}>
            {words.save}
          </Button>
        </>
      }
    >
      <div class="flex flex-col gap-4">
        {input('concurrency', words.concurrencyHint)}
        <div class="grid gap-4 sm:grid-cols-2">
          {input('rate')}
          {input('rateSeconds')}
        </div>
        {input('groupConcurrency')}
        {input('maxDepth', words.maxDepthHint)}
        <p class="text-sm text-muted">{words.otherLimits}</p>
      </div>
    </Dialog>
  )
}
