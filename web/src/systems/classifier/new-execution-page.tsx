/** Starts a classification: a project, files or a folder, and the upload with its progress. */
import { FolderPlus, Plus, ScanText, Trash2, X } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DropZone } from '../../components/drop-zone.tsx'
import { Select } from '../../components/field.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import type { Column } from '../../components/table.tsx'
import { useToast } from '../../components/toast.tsx'
import { VirtualTable } from '../../components/virtual-table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import type { Project } from './api-types.ts'
import { ClassifierMark } from './home-page.tsx'
import { newExecutionMessages } from './new-execution-messages.ts'
import { paths } from './paths.ts'
import { ProjectForm } from './project-form.tsx'
import { UploadProgress } from './upload-progress.tsx'
import { largestFile, mostDocuments, useSubmission } from './use-submission.ts'

/** The formats that the server reads. Files of other types in a folder are sent, too: the server skips them with the reason. */
const readableFiles =
  '.pdf,.docx,.odt,.rtf,.xlsx,.ods,.csv,.tsv,.pptx,.odp,.txt,.md,.html,.htm,.xml,.eml,.msg,.png,.jpg,.jpeg,.tif,.tiff,.webp,.gif,.zip'

export function NewExecutionPage() {
  const words = useMessages(newExecutionMessages)
  const mayAct = useCan('operator')
  const projects = useApiList('GET /projetos', { query: { limit: 500 } })
  const [, navigate] = useLocation()
  const [isCreating, setCreating] = useState(false)
  const submission = useSubmission()
  return (
    <>
      <PageHeader title={words.title} mark={<ClassifierMark />} subtitle={words.subtitle} />
      {!mayAct ? (
        <EmptyState title={words.viewer}>{words.viewerHint}</EmptyState>
      ) : (
        <Loading of={projects} lines={6}>
          {({ items }) =>
            items.length === 0 ? (
              <EmptyState
                icon={FolderPlus}
                title={words.noProjects}
                action={
                  <Button look="primary" icon={Plus} onClick={() => setCreating(true)}>
                    {words.newProject}
                  </Button>
                }
              >
                {words.noProjectsHint}
              </EmptyState>
            ) : (
              <Form key={submission.round} projects={items} onCreate={() => setCreating(true)} />
            )
          }
        </Loading>
      )}
      {isCreating && (
        <ProjectForm
          onClose={() => setCreating(false)}
          onSaved={({ id }) => {
            setCreating(false)
            navigate(paths.createFor(id), { replace: true })
          }}
        />
      )}
    </>
  )
}

const isTooLarge = ({ size }: File) => size > largestFile

function Form({ projects, onCreate }: { projects: readonly Project[]; onCreate(): void }) {
  const words = useMessages(newExecutionMessages)
  const toast = useToast()
  const [, navigate] = useLocation()
  const [search, setSearch] = useSearchParams()
  const submission = useSubmission()
  const { sending, error, given } = submission
  const [files, setFiles] = useState<readonly File[]>(given?.files ?? [])
  const [reuse, setReuse] = useState(given?.reuse ?? false)
  const only = projects.length === 1 ? projects[0]?.id : undefined
  const project = projects.find(({ id }) => id === (search.get('projeto') ?? given?.project ?? only))
  const taken = useMemo(() => (files.some(isTooLarge) ? files.filter(file => !isTooLarge(file)) : files), [files])

  const start = async () => {
    if (project === undefined) return
    const ids = await submission.send({ project: project.id, reuse, files: taken })
    if (ids === undefined) {
      const failed = submission.error
      if (!submission.isShown && failed !== undefined && failed.code !== 'aborted')
        toast.show('bad', `${words.failed}: ${failed.code === 'network' ? words.failedNetwork : failed.message}`, {
          label: words.backToUpload,
          run: () => navigate(paths.create),
        })
      return
    }
    const [first] = ids
    const path = ids.length === 1 && first !== undefined ? paths.execution(first) : paths.home
    const text = ids.length === 1 ? words.started(taken.length) : words.startedMany(ids.length)
    // A person who reads another page by now is not taken away from there.
    const { isShown } = submission
    if (isShown) navigate(path)
    toast.show('good', text, isShown ? undefined : { label: words.open, run: () => navigate(path) })
  }

  return (
    <div class="flex max-w-4xl flex-col gap-4">
      <Card title={words.project}>
        <div class="flex flex-wrap items-end gap-2">
          <div class="min-w-52 flex-1">
            <Select
              label={words.project}
              hideLabel
              value={project?.id ?? ''}
              disabled={sending !== undefined}
              hint={project === undefined ? undefined : words.projectHint(project.categorias.join(', '))}
              onSelect={value => setSearch({ projeto: value }, { replace: true })}
              options={[
                ...(project === undefined ? [{ value: '', label: words.choose }] : []),
                ...projects.map(({ id, nome }) => ({ value: id, label: nome })),
              ]}
            />
          </div>
          <Button icon={Plus} class="self-start" disabled={sending !== undefined} onClick={onCreate}>
            {words.newProject}
          </Button>
        </div>
      </Card>
      <Card title={words.files} flush>
        <div class="p-4">
          <DropZone
            title={words.drop}
            hint={words.dropHint}
            accept={readableFiles}
            folders
            compact={files.length > 0}
            disabled={sending !== undefined}
            onFiles={found => setFiles(before => [...before, ...found])}
          />
        </div>
        {files.length > 0 && (
          <FileList files={files} isLocked={sending !== undefined} onChange={setFiles} taken={taken.length} />
        )}
      </Card>
      {error !== undefined && (
        <div role="alert">
          <Sentence
            kind={error.code === 'aborted' ? 'info' : 'bad'}
            hint={
              error.code === 'aborted'
                ? words.stoppedHint
                : error.code === 'network'
                  ? words.failedNetwork
                  : error.message
            }
            action={
              <Button look="primary" onClick={() => void start()}>
                {words.retry}
              </Button>
            }
          >
            {error.code === 'aborted' ? words.stopped(submission.created) : words.failed}
          </Sentence>
        </div>
      )}
      {sending === undefined ? (
        <div class="flex flex-wrap items-center justify-between gap-3">
          <label class="flex items-center gap-2">
            <input type="checkbox" checked={reuse} onChange={event => setReuse(event.currentTarget.checked)} />
            {words.reuse}
          </label>
          <Button
            look="primary"
            icon={ScanText}
            disabled={project === undefined || taken.length === 0}
            onClick={() => void start()}
          >
            {taken.length === 0 ? words.startNone : words.start(taken.length)}
          </Button>
        </div>
      ) : (
        <UploadProgress of={sending} onStop={() => submission.stop()} />
      )}
    </div>
  )
}

interface FileListProps {
  files: readonly File[]
  taken: number
  isLocked: boolean
  onChange(files: readonly File[]): void
}

function FileList({ files, taken, isLocked, onChange }: FileListProps) {
  const words = useMessages(newExecutionMessages)
  const format = useFormat()
  const rows = useMemo(() => files.map((file, index) => ({ file, index })), [files])
  type Row = (typeof rows)[number]
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const parts = Math.ceil(taken / mostDocuments)
  const columns: readonly Column<Row>[] = [
    { id: 'name', header: words.name, cell: ({ file }) => <span title={file.webkitRelativePath}>{file.name}</span> },
    {
      id: 'size',
      header: words.size,
      align: 'right',
      width: '6rem',
      cell: ({ file: { size } }) => (
        <span class={size > largestFile ? 'font-medium text-bad' : 'text-muted'}>{format.bytes(size)}</span>
      ),
    },
    {
      id: 'remove',
      header: <span class="sr-only">{words.clear}</span>,
      align: 'right',
      width: '3rem',
      cell: ({ file, index }) => (
        <IconButton
          icon={X}
          size="sm"
          label={words.remove(file.name)}
          disabled={isLocked}
          onClick={() => onChange(files.filter((_, each) => each !== index))}
        />
      ),
    },
  ]
  return (
    <>
      <div class="flex flex-wrap items-center gap-x-3 gap-y-1 border-y px-4 py-2" role="status">
        <span class="font-medium">{words.chosen(files.length)}</span>
        <span class="text-muted">{format.bytes(bytes)}</span>
        {parts > 1 && <span class="text-muted">{words.split(parts)}</span>}
        {taken < files.length && <span class="text-bad">{words.tooLarge(files.length - taken)}</span>}
        <span class="ml-auto">
          <Button size="sm" look="quiet" icon={Trash2} disabled={isLocked} onClick={() => onChange([])}>
            {words.clear}
          </Button>
        </span>
      </div>
      <VirtualTable label={words.files} columns={columns} rows={rows} keyOf={row => String(row.index)} height="16rem" />
    </>
  )
}
