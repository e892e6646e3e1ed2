/** The form of a new quote. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Select, TextArea } from '../../components/field.tsx'
import { componentMessages } from '../../components/messages.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { quotesMessages } from './messages.ts'

type Kind = '' | 'vehicle' | 'product'

export function NewQuote({ onClose }: { onClose(): void }) {
  const words = useMessages(quotesMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const [description, setDescription] = useState('')
  const [kind, setKind] = useState<Kind>('')
  const create = useAction('POST /api/quotes')
  const start = () =>
    create.mutate(
      { body: { description: description.trim(), ...(kind !== '' && { kind }) } },
      {
        onSuccess: ({ id }) => {
          toast.show('good', words.started)
          navigate(`/cotacoes/${encodeURIComponent(id)}`)
        },
      },
    )
  return (
    <Dialog
      title={words.new}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button look="primary" disabled={description.trim() === ''} busy={create.isPending} onClick={start}>
            {words.start}
          </Button>
        </>
      }
    >
      <div class="flex flex-col gap-4">
        <TextArea
          label={words.description}
          rows={3}
          value={description}
          hint={words.descriptionHint}
          error={create.error?.message}
          onInput={event => setDescription(event.currentTarget.value)}
        />
        <Select
          label={words.kind}
          value={kind}
          onSelect={value => setKind(value as Kind)}
          options={[
            { value: '', label: words.auto },
            { value: 'product', label: words.product },
            { value: 'vehicle', label: words.vehicle },
          ]}
        />
      </div>
    </Dialog>
  )
}
