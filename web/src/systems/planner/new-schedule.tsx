/** The form of a new schedule: the request as JSON, with an example to begin with. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import type { Call } from '../../api/client.ts'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextArea } from '../../components/field.tsx'
import { componentMessages } from '../../components/messages.ts'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { plannerMessages } from './messages.ts'

type Request = Call<'POST /api/planner/generate-schedule'>['body']

/** Next Monday, so that the example is a whole week. */
function nextMonday(): string {
  const day = new Date()
  day.setDate(day.getDate() + ((8 - day.getDay()) % 7 || 7))
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map(part => String(part).padStart(2, '0')).join('-')
}

const example = () => ({
  start: nextMonday(),
  days: 7,
  people: [
    { name: 'Ana', skills: ['caixa'] },
    { name: 'Bia', skills: ['caixa'] },
    { name: 'Caio' },
    { name: 'Davi', avoids: ['Noite'] },
    { name: 'Eva', max_hours_week: 36 },
    { name: 'Fábio' },
  ],
  shifts: [
    { name: 'Dia', start: '08:00', end: '16:00' },
    { name: 'Noite', start: '22:00', end: '06:00' },
  ],
  demand: [
    { shift: 'Dia', people: 2 },
    { shift: 'Noite', people: 1 },
  ],
  rules: { max_nights_per_week: 3 },
})

export function NewSchedule({ onClose }: { onClose(): void }) {
  const words = useMessages(plannerMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const [text, setText] = useState(() => JSON.stringify(example(), null, 2))
  const [problem, setProblem] = useState<string>()
  const create = useAction('POST /api/planner/generate-schedule')
  const start = () => {
    let body: Request
    try {
      body = JSON.parse(text) as Request
    } catch (error) {
      setProblem(words.notJson(error instanceof Error ? error.message : String(error)))
      return
    }
    setProblem(undefined)
    create.mutate(
      { body },
      {
        onSuccess: ({ id }) => {
          toast.show('good', words.started)
          navigate(`/planejador/${encodeURIComponent(id)}`)
        },
        onError: error => setProblem(error.message),
      },
    )
  }
  return (
    <Dialog
      title={words.newSchedule}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button look="primary" busy={create.isPending} onClick={start}>
            {words.start}
          </Button>
        </>
      }
    >
      <TextArea
        label={words.scheduleJson}
        rows={16}
        class="font-mono text-sm"
        value={text}
        hint={words.scheduleHint}
        error={problem}
        spellcheck={false}
        onInput={event => setText(event.currentTarget.value)}
      />
    </Dialog>
  )
}
