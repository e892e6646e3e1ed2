/** The projects: what each asks of the AI, and the way to classify with it. */
import { FolderPlus, Pencil, Plus, ScanText, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useAction, useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { Menu } from '../../components/menu.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import type { Project } from './api-types.ts'
import { classifierMessages } from './messages.ts'
import { paths } from './paths.ts'
import { ProjectForm } from './project-form.tsx'

const shownCategories = 12

export function ProjectList({ onCreate }: { onCreate(): void }) {
  const words = useMessages(classifierMessages)
  const mayAct = useCan('operator')
  const list = useApiList('GET /projetos', {})
  const [editing, setEditing] = useState<Project>()
  const [removing, setRemoving] = useState<Project>()
  return (
    <Loading of={list} lines={6}>
      {({ items }) =>
        items.length === 0 ? (
          <EmptyState
            icon={FolderPlus}
            title={words.noProjects}
            action={
              mayAct && (
                <Button look="primary" icon={Plus} onClick={onCreate}>
                  {words.newProject}
                </Button>
              )
            }
          >
            {words.noProjectsHint}
          </EmptyState>
        ) : (
          <>
            <ul class="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 wide:grid-cols-4">
              {items.map(project => (
                <ProjectCard
                  key={project.id}
                  project={project}
                  mayAct={mayAct}
                  onEdit={() => setEditing(project)}
                  onRemove={() => setRemoving(project)}
                />
              ))}
            </ul>
            {list.hasNextPage && (
              <div class="p-2 text-center">
                <Button look="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                  {words.more}
                </Button>
              </div>
            )}
            {editing !== undefined && (
              <ProjectForm
                project={editing}
                onClose={() => setEditing(undefined)}
                onSaved={() => setEditing(undefined)}
              />
            )}
            {removing !== undefined && <RemoveProject project={removing} onClose={() => setRemoving(undefined)} />}
          </>
        )
      }
    </Loading>
  )
}

interface ProjectCardProps {
  project: Project
  mayAct: boolean
  onEdit(): void
  onRemove(): void
}

function ProjectCard({ project, mayAct, onEdit, onRemove }: ProjectCardProps) {
  const words = useMessages(classifierMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const { id, nome, categorias, instrucoes, modelo, limite_custo_usd: limit, moeda } = project
  const more = categorias.length - shownCategories
  return (
    <li class="flex min-w-0 flex-col gap-3 rounded-lg border bg-surface p-4">
      <div class="flex items-start gap-2">
        <h2 class="min-w-0 flex-1 text-md font-semibold">{nome}</h2>
        {mayAct && (
          <Menu
            items={[
              { label: words.edit, icon: Pencil, onSelect: onEdit },
              { label: words.remove, icon: Trash2, danger: true, onSelect: onRemove },
            ]}
          />
        )}
      </div>
      <div class="flex flex-wrap gap-1" aria-label={words.categoryCount(categorias.length)} role="group">
        {categorias.slice(0, shownCategories).map(each => (
          <Badge key={each}>{each}</Badge>
        ))}
        {more > 0 && <Badge>+{more}</Badge>}
      </div>
      {instrucoes !== '' && <p class="line-clamp-3 text-muted">{instrucoes}</p>}
      <div class="mt-auto flex flex-wrap items-center gap-2 pt-1">
        <span class="min-w-0 flex-1 truncate text-sm text-faint">
          {modelo ?? words.defaultModel} · {limit === null ? words.noLimit : format.money(limit, moeda)}
        </span>
        {mayAct && (
          <Button size="sm" icon={ScanText} onClick={() => navigate(paths.createFor(id))}>
            {words.classify}
          </Button>
        )}
      </div>
    </li>
  )
}

function RemoveProject({ project: { id, nome }, onClose }: { project: Project; onClose(): void }) {
  const words = useMessages(classifierMessages)
  const toast = useToast()
  const remove = useAction('DELETE /projetos/{id}')
  const run = async () => {
    try {
      await remove.mutateAsync({ params: { id } })
      toast.show('good', words.removed(nome))
    } catch (error) {
      toast.show('bad', (error as Error).message)
    }
    onClose()
  }
  return (
    <Confirm
      title={words.removeTitle(nome)}
      action={words.remove}
      danger
      busy={remove.isPending}
      onConfirm={() => void run()}
      onClose={onClose}
    >
      {words.removeHint}
    </Confirm>
  )
}
