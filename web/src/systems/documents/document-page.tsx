/** One document: its first page, what was read, and the actions. */
import { useQuery } from '@tanstack/react-query'
import { Download, FileText, RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { type Answer, type ApiError, send } from '../../api/client.ts'
import { useAction, useApi } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/dialog.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { withBase } from '../../lib/base-path.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { documentMessages } from './messages.ts'
import { paths } from './paths.ts'

type Document = Answer<'GET /api/documents/{id}'>

export function DocumentPage({ id }: { id: string }) {
  const found = useApi('GET /api/documents/{id}', { params: { id } }, { every: 2000 })
  return (
    <Loading of={found} lines={8}>
      {document => <Shown document={document} />}
    </Loading>
  )
}

function Shown({ document }: { document: Document }) {
  const words = useMessages(documentMessages)
  const { id, filename, status, thumbnail_url: thumbnail } = document
  const isDone = status === 'DONE'
  return (
    <>
      <PageHeader
        parent={{ href: paths.home, name: words.title }}
        title={filename}
        mark={<StatusBadge status={status} />}
        actions={<Actions document={document} />}
      />
      <div class="flex flex-col gap-4">
        {!isDone && (
          <div role="status">
            <Sentence
              kind={status === 'FAILED' ? 'bad' : 'info'}
              hint={document.error_message ?? undefined}
              action={status === 'FAILED' && <Reprocess id={id} look="primary" />}
            >
              {status === 'FAILED' ? words.failed : status === 'PROCESSING' ? words.working : words.waiting}
            </Sentence>
          </div>
        )}
        {document.text_complete === false && <Sentence kind="warn">{words.incomplete}</Sentence>}
        <div class="grid items-start gap-4 lg:grid-cols-[minmax(16rem,22rem)_minmax(0,1fr)]">
          <div class="flex flex-col gap-4">
            <Card flush>
              {thumbnail === null ? (
                <EmptyState icon={FileText} title={words.noPreview} />
              ) : (
                <img
                  src={withBase(thumbnail)}
                  alt={words.preview(filename)}
                  class="mx-auto block max-h-[32rem] rounded-lg"
                />
              )}
            </Card>
            <Facts document={document} />
          </div>
          <Card title={words.text}>
            {isDone ? (
              <Text id={id} />
            ) : (
              <EmptyState icon={FileText} title={status === 'FAILED' ? words.noTextFailed : words.noTextYet} />
            )}
          </Card>
        </div>
      </div>
    </>
  )
}

function Facts({ document }: { document: Document }) {
  const words = useMessages(documentMessages)
  const format = useFormat()
  const { pages, size, title, language, created_at: created, user, duplicate_of: first } = document
  const facts = [
    ...(title === null ? [] : [[words.pdfTitle, title] as const]),
    ...(pages === null ? [] : [[words.pages, format.number(pages)] as const]),
    [words.size, format.bytes(size)] as const,
    ...(pages === null
      ? []
      : [[words.language, language === null ? words.unknown : words.languages[language]] as const]),
    [words.added, <RelativeTime key="at" at={created} />] as const,
    [words.user, user] as const,
  ]
  return (
    <Card>
      <dl class="flex flex-col gap-2">
        {facts.map(([name, value]) => (
          <div key={name} class="flex gap-3">
            <dt class="w-24 shrink-0 text-muted">{name}</dt>
            <dd class="min-w-0">{value}</dd>
          </div>
        ))}
      </dl>
      {first !== null && (
        <p class="mt-3 border-t pt-3 text-muted">
          {words.duplicate}.{' '}
          <Link href={paths.document(first)} class="font-medium text-accent hover:underline">
            {words.duplicateLink}
          </Link>
        </p>
      )}
    </Card>
  )
}

function Text({ id }: { id: string }) {
  const words = useMessages(documentMessages)
  const read = useQuery<string, ApiError>({
    queryKey: ['GET /api/documents/{id}/text', { id }],
    queryFn: async ({ signal }) =>
      (await send(withBase(`/api/documents/${encodeURIComponent(id)}/text`), { signal })).text(),
  })
  return (
    <Loading of={read} lines={8}>
      {text =>
        text.trim() === '' ? (
          <EmptyState icon={FileText} title={words.noText} />
        ) : (
          <pre
            tabIndex={0}
            role="region"
            aria-label={words.text}
            class="max-h-[40rem] overflow-auto font-sans text-base whitespace-pre-wrap"
          >
            {text}
          </pre>
        )
      }
    </Loading>
  )
}

/** Runs an action and reports its effect; of a limit, when to try again. Resolves with false after a failure. */
function useReport(): (act: () => Promise<unknown>, done: string) => Promise<boolean> {
  const words = useMessages(documentMessages)
  const toast = useToast()
  return async (act, done) => {
    try {
      await act()
      toast.show('good', done)
      return true
    } catch (error) {
      const { status, message, retryAfterSeconds } = error as ApiError
      toast.show('bad', status === 429 ? words.limited(retryAfterSeconds ?? 60) : message)
      return false
    }
  }
}

function Reprocess({ id, look = 'secondary' }: { id: string; look?: 'primary' | 'secondary' }) {
  const words = useMessages(documentMessages)
  const mayAct = useCan('operator')
  const report = useReport()
  const reprocess = useAction('POST /api/documents/{id}/reprocess')
  if (!mayAct) return null
  return (
    <Button
      look={look}
      icon={RotateCw}
      busy={reprocess.isPending}
      onClick={() => void report(() => reprocess.mutateAsync({ params: { id } }), words.reprocessed)}
    >
      {words.reprocess}
    </Button>
  )
}

function Actions({ document: { id, filename, status } }: { document: Document }) {
  const words = useMessages(documentMessages)
  const [, navigate] = useLocation()
  const mayAct = useCan('operator')
  const remove = useAction('DELETE /api/documents/{id}')
  const [asks, setAsks] = useState(false)
  const report = useReport()
  return (
    <>
      <Button
        icon={Download}
        onClick={() => location.assign(withBase(`/api/documents/${encodeURIComponent(id)}/download`))}
      >
        {words.download}
      </Button>
      {status === 'DONE' && <Reprocess id={id} />}
      {mayAct && (
        <Button look="danger" icon={Trash2} onClick={() => setAsks(true)}>
          {words.remove}
        </Button>
      )}
      {asks && (
        <Confirm
          title={words.removeTitle(filename)}
          action={words.remove}
          danger
          busy={remove.isPending}
          onConfirm={() =>
            void report(() => remove.mutateAsync({ params: { id } }), words.removed(filename)).then(done => {
              setAsks(false)
              if (done) navigate(paths.home)
            })
          }
          onClose={() => setAsks(false)}
        >
          {words.removeHint}
        </Confirm>
      )}
    </>
  )
}
