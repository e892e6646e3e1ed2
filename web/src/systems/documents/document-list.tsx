/** Upload, list and search of PDFs. The search and the filter are part of the address. */
import { useQueryClient } from '@tanstack/react-query'
import { FileText, FlaskConical, Search } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import type { Answer } from '../../api/client.ts'
import { useApiList } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { upload } from '../../api/upload.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { DropZone } from '../../components/drop-zone.tsx'
import { Input, Select } from '../../components/field.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, Loading } from '../../components/states.tsx'
import { StillMark } from '../../components/still-mark.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { withBase } from '../../lib/base-path.ts'
import { statusMessages } from '../shared/messages.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { UploadList } from '../shared/upload-list.tsx'
import { type Uploads, useUploads } from '../shared/uploads.ts'
import { documentMessages } from './messages.ts'
import { paths } from './paths.ts'
import { samplePdf } from './sample-pdf.ts'

type Document = Answer<'GET /api/documents/{id}'>

const statuses = ['PENDING', 'PROCESSING', 'DONE', 'FAILED'] as const
const isAtWork = ({ status }: Document) => status === 'PENDING' || status === 'PROCESSING'

export function DocumentList() {
  const words = useMessages(documentMessages)
  const mayAct = useCan('operator')
  const client = useQueryClient()
  const [search] = useSearchParams()
  const q = search.get('q') ?? ''
  const status = statuses.find(each => each === search.get('status'))
  const query = { ...(q.trim() === '' ? {} : { q }), ...(status === undefined ? {} : { status }) }
  const [every, setEvery] = useState(2000)
  const list = useApiList('GET /api/documents', { query }, { every })
  const isBusy = list.data?.items.some(isAtWork) === true
  useEffect(() => setEvery(isBusy ? 1500 : 10_000), [isBusy])
  const uploads = useUploads('documents', {
    send(file, options) {
      const form = new FormData()
      form.append('file', file, file.name)
      return upload('/api/documents', form, options)
    },
    onSent: () => void client.invalidateQueries({ queryKey: ['GET /api/documents'] }),
  })
  const isFiltered = q !== '' || status !== undefined
  return (
    <div class="flex flex-col gap-4">
      {mayAct && (
        <DropZone
          title={words.drop}
          hint={words.dropHint}
          accept=".pdf,application/pdf"
          folders
          compact
          onFiles={uploads.add}
        />
      )}
      <UploadList uploads={uploads} />
      <Card flush>
        <Filters q={q} status={status ?? ''} />
        <StillMark since={list.data?.stillSince} isReading={list.isFetching} onRefresh={() => void list.refetch()} />
        <Loading of={list} lines={6}>
          {({ items }) => (
            <>
              <DocumentTable
                rows={items}
                empty={<Nothing isFiltered={isFiltered} uploads={mayAct ? uploads : undefined} />}
              />
              {list.hasNextPage && (
                <div class="border-t p-2 text-center">
                  <Button look="quiet" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
                    {words.more}
                  </Button>
                </div>
              )}
            </>
          )}
        </Loading>
      </Card>
    </div>
  )
}

/** `uploads`: undefined for those who may not send. */
function Nothing({ isFiltered, uploads }: { isFiltered: boolean; uploads: Uploads | undefined }) {
  const words = useMessages(documentMessages)
  if (isFiltered) return <EmptyState icon={Search} title={words.noMatch} />
  return (
    <EmptyState
      icon={FileText}
      title={words.none}
      {...(uploads && {
        action: (
          <Button icon={FlaskConical} busy={uploads.isBusy} onClick={() => uploads.add([samplePdf()])}>
            {words.sample}
          </Button>
        ),
      })}
    >
      {uploads === undefined ? words.noneViewer : words.noneHint}
    </EmptyState>
  )
}

/** A search waits until the typing pauses. */
const typingMs = 250

function Filters({ q, status }: { q: string; status: string }) {
  const words = useMessages(documentMessages)
  const names = useMessages(statusMessages)
  const [, setSearch] = useSearchParams()
  const [text, setText] = useState(q)
  useEffect(() => {
    if (text === q) return undefined
    const timer = setTimeout(() => set('q', text), typingMs)
    return () => clearTimeout(timer)
  })
  const set = (name: string, value: string) =>
    setSearch(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  return (
    <div class="flex flex-wrap gap-2 border-b px-4 py-2">
      <div class="min-w-48 flex-1">
        <Input
          label={words.search}
          hideLabel
          type="search"
          placeholder={words.search}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
      </div>
      <div class="w-44 max-sm:flex-1">
        <Select
          label={words.status}
          hideLabel
          value={status}
          onSelect={value => set('status', value)}
          options={[
            { value: '', label: words.anyStatus },
            ...statuses.map(each => ({ value: each, label: names[each] })),
          ]}
        />
      </div>
    </div>
  )
}

function DocumentTable({ rows, empty }: { rows: readonly Document[]; empty: preact.ComponentChildren }) {
  const words = useMessages(documentMessages)
  const format = useFormat()
  const [, navigate] = useLocation()
  const columns: readonly Column<Document>[] = [
    {
      id: 'name',
      header: words.name,
      cell: row => (
        <span class="flex min-w-0 items-center gap-3">
          <Thumbnail of={row} />
          <span class="min-w-0">
            <Link
              href={paths.document(row.id)}
              class="block truncate font-medium hover:underline"
              onClick={(event: MouseEvent) => event.stopPropagation()}
            >
              {row.filename}
            </Link>
            <span class="block truncate text-sm text-muted">
              {row.error_message ?? (row.title === row.filename ? '' : row.title)}
            </span>
          </span>
        </span>
      ),
    },
    { id: 'status', header: words.status, width: '9rem', cell: row => <StatusBadge status={row.status} /> },
    {
      id: 'pages',
      header: words.pages,
      align: 'right',
      width: '6rem',
      hide: 'nav',
      cell: row => (row.pages === null ? '–' : format.number(row.pages)),
    },
    { id: 'size', header: words.size, align: 'right', width: '7rem', hide: 'nav', cell: row => format.bytes(row.size) },
    {
      id: 'added',
      header: words.added,
      align: 'right',
      width: '8rem',
      hide: 'sm',
      cell: row => <RelativeTime at={row.created_at} />,
    },
  ]
  return (
    <Table
      label={words.documents}
      columns={columns}
      rows={rows}
      keyOf={row => row.id}
      onRow={row => navigate(paths.document(row.id))}
      empty={empty}
    />
  )
}

function Thumbnail({ of: { thumbnail_url: url } }: { of: Document }) {
  const frame =
    'flex h-10 w-8 shrink-0 items-center justify-center overflow-hidden rounded-sm border bg-sunken max-sm:hidden'
  return (
    <span class={frame} aria-hidden="true">
      {url === null ? (
        <FileText size={14} class="text-faint" />
      ) : (
        <img src={withBase(url)} alt="" loading="lazy" class="h-full w-full object-cover object-top" />
      )}
    </span>
  )
}
