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

const names = [
  'concurrency',
  'rate',
  'rateSeconds',
  'groupConcurrency',
  'groupRate',
  'groupRateSeconds',
  'maxDepth',
] as const
type Fields = Record<(typeof names)[number], string>

const secondsOf = (rate: Limits['rate']) => (rate === undefined ? '' : String(rate.per_ms / 1000))

const fieldsOf = ({ concurrency, rate, per_group, max_depth }: Limits): Fields => ({
  concurrency: String(concurrency ?? ''),
  rate: String(rate?.limit ?? ''),
  rateSeconds: secondsOf(rate),
  groupConcurrency: String(per_group?.concurrency ?? ''),
  groupRate: String(per_group?.rate?.limit ?? ''),
  groupRateSeconds: secondsOf(per_group?.rate),
  maxDepth: String(max_depth ?? ''),
})

const isUsable = (text: string) => text === '' || /^[1-9]\d{0,8}$/.test(text)
/** From 1 second to 24 hours, as the server accepts, in whole milliseconds. */
const isPeriod = (text: string) =>
  text === '' || (/^\d{1,8}([.,]\d{1,3})?$/.test(text) && msOf(text) >= 1000 && msOf(text) <= 86_400_000)
const msOf = (seconds: string) => Math.round(Number(seconds.replace(',', '.')) * 1000)
const rateOf = (limit: string, seconds: string) => ({ limit: Number(limit), per_ms: msOf(seconds) })
const numberOf = (text: string) => (text === '' ? undefined : Number(text))

function limitsOf(before: Limits, fields: Fields): Limits {
  const { concurrency: _, rate: __, max_depth: ___, per_group, ...rest } = before
  const { concurrency: ____, rate: _____, ...otherOfGroup } = per_group ?? {}
  const [concurrency, depth, ofGroup] = [fields.concurrency, fields.maxDepth, fields.groupConcurrency].map(numberOf)
  const group = {
    ...otherOfGroup,
    ...(ofGroup !== undefined && { concurrency: ofGroup }),
    ...(fields.groupRate !== '' && { rate: rateOf(fields.groupRate, fields.groupRateSeconds) }),
  }
  return {
    ...rest,
    ...(concurrency !== undefined && { concurrency }),
    ...(fields.rate !== '' && { rate: rateOf(fields.rate, fields.rateSeconds) }),
    ...(Object.keys(group).length > 0 && { per_group: group }),
    ...(depth !== undefined && { max_depth: depth }),
  }
}

/** The two fields of a rate go together. */
const partners: Partial<Record<keyof Fields, keyof Fields>> = {
  rate: 'rateSeconds',
  rateSeconds: 'rate',
  groupRate: 'groupRateSeconds',
  groupRateSeconds: 'groupRate',
}

export function LimitsDialog({ queue: { queue: name, limits }, onClose }: { queue: Queue; onClose(): void }) {
  const words = useMessages(queuesMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const save = useAction('PUT /api/v1/queues/{name}/limits')
  const [fields, setFields] = useState(() => fieldsOf(limits))
  const errorOf = (field: keyof Fields): string | undefined => {
    const partner = partners[field]
    if (field === 'rateSeconds' || field === 'groupRateSeconds') {
      if (!isPeriod(fields[field])) return words.period
    } else if (!isUsable(fields[field])) return words.wholeNumber
    return partner !== undefined && (fields[field] === '') !== (fields[partner] === '') ? words.both : undefined
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
      inputMode="decimal"
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
        <div class="grid gap-4 sm:grid-cols-2">
          {input('groupRate')}
          {input('groupRateSeconds')}
        </div>
        {input('maxDepth', words.maxDepthHint)}
        <p class="text-sm text-muted">{words.otherLimits}</p>
      </div>
    </Dialog>
  )
}
