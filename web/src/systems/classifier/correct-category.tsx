/** Corrects the category of a document by hand, accepts it, or takes the review back. What the AI answered stays visible. */
import { Check, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { useAction, useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Select } from '../../components/field.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import type { Result } from './api-types.ts'
import { resultsMessages } from './results-messages.ts'

export function CorrectCategory({ execution, result }: { execution: string; result: Result }) {
  const words = useMessages(resultsMessages)
  const toast = useToast()
  const mayAct = useCan('operator')
  const categories = useApi('GET /execucoes/{id}/categorias', { params: { id: execution } }, { enabled: mayAct })
  const save = useAction('PATCH /execucoes/{id}/documentos/{codigo}')
  const { codigo, categoria, categoria_ia: answered, revisao: review, revisado_por: by, status } = result
  const [chosen, setChosen] = useState(categoria ?? '')
  if (status === 'PENDENTE' || status === 'PROCESSANDO') return null
  const set = async (next: string | null) => {
    try {
      await save.mutateAsync({ params: { id: execution, codigo }, body: { categoria: next } })
      setChosen(next ?? answered ?? '')
      toast.show('good', next === null ? words.reviewTaken : next === answered ? words.accepted : words.corrected(next))
    } catch (error) {
      toast.show('bad', (error as Error).message)
    }
  }
  return (
    <div class="flex flex-col gap-2 border-t pt-4">
      {review !== null && (
        <p class="flex flex-wrap items-center gap-2">
          <Badge tone="accent">{review === 'CORRIGIDO' ? words.correctedMark : words.acceptedMark}</Badge>
          {by !== null && <span class="text-muted">{words.reviewedBy(by)}</span>}
          {review === 'CORRIGIDO' && answered !== null && <span class="text-muted">{words.aiSaid(answered)}</span>}
        </p>
      )}
      {mayAct && categories.data !== undefined && (
        <div class="flex flex-wrap items-end gap-2">
          <div class="min-w-40 flex-1">
            <Select
              label={words.correctTo}
              value={chosen}
              onSelect={setChosen}
              options={[
                ...(chosen === '' ? [{ value: '', label: words.none }] : []),
                ...categories.data.items.map(each => ({ value: each.categoria, label: each.categoria })),
              ]}
            />
          </div>
          <Button
            icon={Check}
            busy={save.isPending}
            disabled={chosen === '' || (review !== null && chosen === categoria)}
            onClick={() => void set(chosen)}
          >
            {chosen === categoria ? words.accept : words.correct}
          </Button>
          {review !== null && (
            <Button look="quiet" icon={Undo2} busy={save.isPending} onClick={() => void set(null)}>
              {words.takeBack}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}
