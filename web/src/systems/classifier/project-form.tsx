/** The form of a project, to create or to change one. */
import { useId, useState } from 'react'
import type { ApiError } from '../../api/client.ts'
import { useAction } from '../../api/query.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Input, TextArea } from '../../components/field.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { newRequestKey } from '../../lib/request-key.ts'
import type { Project } from './api-types.ts'
import { classifierMessages } from './messages.ts'

interface ProjectFormProps {
  /** Absent: a new one. */
  project?: Project
  onClose(): void
  onSaved(project: Project): void
}

interface Fields {
  nome: string
  categorias: string
  instrucoes: string
  modelo: string
  limite_custo_usd: string
  max_retries_execucao: string
  max_retries_documento: string
}

const fieldsOf = (project: Project | undefined): Fields => ({
  nome: project?.nome ?? '',
  categorias: project?.categorias.join('\n') ?? '',
  instrucoes: project?.instrucoes ?? '',
  modelo: project?.modelo ?? '',
  limite_custo_usd: project?.limite_custo_usd ?? '',
  max_retries_execucao: String(project?.max_retries_execucao ?? 3),
  max_retries_documento: String(project?.max_retries_documento ?? 2),
})

const bodyOf = (fields: Fields) => ({
  nome: fields.nome.trim(),
  categorias: linesOf(fields.categorias),
  instrucoes: fields.instrucoes,
  modelo: fields.modelo.trim() === '' ? null : fields.modelo.trim(),
  limite_custo_usd: fields.limite_custo_usd.trim() === '' ? null : fields.limite_custo_usd.trim().replace(',', '.'),
  max_retries_execucao: Number(fields.max_retries_execucao),
  max_retries_documento: Number(fields.max_retries_documento),
})

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')

export function ProjectForm({ project, onClose, onSaved }: ProjectFormProps) {
  const words = useMessages(classifierMessages)
  const form = words.form
  const toast = useToast()
  const id = useId()
  const create = useAction('POST /projetos')
  const change = useAction('PATCH /projetos/{id}')
  const [fields, setFields] = useState(() => fieldsOf(project))
  const [error, setError] = useState<{ field: string; message: string }>()
  // The same key until the form closes: a repeated click after a lost answer makes one project.
  const [key] = useState(newRequestKey)
  const set = (name: keyof Fields) => (event: { currentTarget: { value: string } }) =>
    setFields(before => ({ ...before, [name]: event.currentTarget.value }))
  const errorOf = (field: string) => (error?.field === field ? error.message : undefined)

  const save = async () => {
    const body = bodyOf(fields)
    if (body.nome === '') return setError({ field: 'nome', message: form.noName })
    if (body.categorias.length === 0) return setError({ field: 'categorias', message: form.noCategories })
    try {
      const saved =
        project === undefined
          ? await create.mutateAsync({ body, idempotencyKey: `${key}-${hashOf(body)}` })
          : await change.mutateAsync({ params: { id: project.id }, body })
      toast.show('good', (project === undefined ? form.created : form.saved)(saved.nome))
      onSaved(saved)
    } catch (caught) {
      const found = caught as ApiError
      const field = String(found.facts?.field ?? '').split(/[.[]/)[0] ?? ''
      if (field in fields) setError({ field, message: found.message })
      else toast.show('bad', found.message)
    }
  }

  return (
    <Dialog
      title={project === undefined ? words.newProject : form.edit}
      onClose={onClose}
      actions={
        <Button look="primary" type="submit" form={id} busy={create.isPending || change.isPending}>
          {project === undefined ? form.create : form.save}
        </Button>
      }
    >
      <form
        id={id}
        class="flex flex-col gap-4"
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <Input
          label={form.name}
          value={fields.nome}
          placeholder={form.namePlaceholder}
          error={errorOf('nome')}
          maxLength={200}
          autoFocus
          onInput={set('nome')}
        />
        <TextArea
          label={form.categories}
          value={fields.categorias}
          placeholder={form.categoriesPlaceholder}
          rows={6}
          hint={form.categoriesHint}
          error={errorOf('categorias')}
          onInput={set('categorias')}
        />
        <TextArea
          label={form.instructions}
          value={fields.instrucoes}
          placeholder={form.instructionsPlaceholder}
          rows={3}
          error={errorOf('instrucoes')}
          onInput={set('instrucoes')}
        />
        <details>
          <summary class="cursor-pointer font-medium text-muted">{form.advanced}</summary>
          <div class="mt-3 flex flex-col gap-4">
            <Input label={form.model} value={fields.modelo} error={errorOf('modelo')} onInput={set('modelo')} />
            <Input
              label={form.limit}
              value={fields.limite_custo_usd}
              inputMode="decimal"
              error={errorOf('limite_custo_usd')}
              onInput={set('limite_custo_usd')}
            />
            <Input
              label={form.resumes}
              type="number"
              min={0}
              max={20}
              value={fields.max_retries_execucao}
              error={errorOf('max_retries_execucao')}
              onInput={set('max_retries_execucao')}
            />
            <Input
              label={form.retries}
              type="number"
              min={0}
              max={20}
              value={fields.max_retries_documento}
              error={errorOf('max_retries_documento')}
              onInput={set('max_retries_documento')}
            />
          </div>
        </details>
        {project !== undefined && <p class="text-sm text-muted">{form.later}</p>}
      </form>
    </Dialog>
  )
}

/** Tells one body from another, so that a corrected form is another request. */
function hashOf(body: object): string {
  let hash = 0
  for (const character of JSON.stringify(body)) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) | 0
  return (hash >>> 0).toString(16)
}
