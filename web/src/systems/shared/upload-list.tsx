/** The files of `useUploads`, each with its state; a file that was not sent has its reason and a button. */
import { CircleCheck, CircleX, RotateCw, Square, X } from 'lucide-react'
import type { ApiError } from '../../api/client.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Progress } from '../../components/progress.tsx'
import { Spinner } from '../../components/spinner.tsx'
import type { Column } from '../../components/table.tsx'
import { VirtualTable } from '../../components/virtual-table.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { useNow } from '../../lib/now.ts'
import { sharedMessages } from './messages.ts'
import { mayRetry, type Upload, type Uploads } from './uploads.ts'

const mostRows = 6

export function UploadList({ uploads }: { uploads: Uploads }) {
  const words = useMessages(sharedMessages)
  const format = useFormat()
  const { all, isBusy } = uploads
  if (all.length === 0) return null
  const sent = all.filter(({ state }) => state === 'sent').length
  const failed = all.filter(({ state }) => state === 'failed').length
  const columns: readonly Column<Upload>[] = [
    { id: 'file', header: words.file, cell: ({ file }) => <span title={file.name}>{file.name}</span> },
    {
      id: 'size',
      header: words.size,
      align: 'right',
      width: '6rem',
      hide: 'sm',
      cell: ({ file }) => <span class="text-sm text-muted">{format.bytes(file.size)}</span>,
    },
    {
      id: 'state',
      header: words.state,
      width: '50%',
      cell: upload => (
        <span class="flex items-center gap-1.5 text-sm text-muted">
          <State upload={upload} />
          {mayRetry(upload) && (
            <IconButton icon={RotateCw} size="sm" label={words.retry} onClick={() => uploads.retry(upload.id)} />
          )}
        </span>
      ),
    },
  ]
  const under = all.reduce((sum, each) => sum + (each.state === 'sending' ? each.sent : 0), 0)
  return (
    <Card
      title={words.uploads}
      hint={<span role="status">{words.uploadsOf(sent, all.length)}</span>}
      actions={
        <>
          {all.some(mayRetry) && (
            <Button size="sm" icon={RotateCw} onClick={() => uploads.retry()}>
              {words.retryAll}
            </Button>
          )}
          {isBusy ? (
            <Button size="sm" icon={Square} onClick={uploads.stop}>
              {words.stop}
            </Button>
          ) : (
            <Button size="sm" icon={X} onClick={uploads.clear}>
              {words.clear}
            </Button>
          )}
        </>
      }
      flush
    >
      <div class="px-4 pt-3 pb-2">
        <Progress
          label={words.uploads}
          total={all.length}
          parts={[
            { value: sent + under, tone: 'good', label: words.sent },
            { value: failed, tone: 'bad', label: words.notSent('') },
          ]}
          done={sent + failed}
        />
      </div>
      <VirtualTable
        label={words.uploads}
        columns={columns}
        rows={all}
        keyOf={({ id }) => id}
        height={`${Math.min(all.length, mostRows) * 40}px`}
      />
    </Card>
  )
}

function State({ upload }: { upload: Upload }) {
  const words = useMessages(sharedMessages)
  const format = useFormat()
  switch (upload.state) {
    case 'queued':
      return <>{words.queued}</>
    case 'sending':
      return (
        <>
          <Spinner />
          {words.sending(format.percent(Math.floor(upload.sent * 100)))}
        </>
      )
    case 'waiting':
      return <Countdown until={upload.until} />
    case 'sent':
      return (
        <>
          <CircleCheck size={14} class="shrink-0 text-good" aria-hidden="true" />
          {words.sent}
        </>
      )
    case 'failed':
      return (
        <>
          <CircleX size={14} class="shrink-0 text-bad" aria-hidden="true" />
          <span class="truncate" title={reasonOf(upload.error, words.noAnswer)}>
            {words.notSent(reasonOf(upload.error, words.noAnswer))}
          </span>
        </>
      )
  }
}

const reasonOf = ({ code, message }: ApiError, noAnswer: string) => (code === 'network' ? noAnswer : message)

function Countdown({ until }: { until: number }) {
  const words = useMessages(sharedMessages)
  useNow()
  return <>{words.waitsUntil(Math.max(1, Math.ceil((until - Date.now()) / 1000)))}</>
}
