/** The files of `useUploads`, each with its state; a file that was not sent has its reason and a button. */
import { CircleCheck, CircleX, RotateCw, Square, X } from 'lucide-react'
import type { ApiError } from '../../api/client.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Progress } from '../../components/progress.tsx'
import { Spinner } from '../../components/spinner.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { useNow } from '../../lib/now.ts'
import { sharedMessages } from './messages.ts'
import { mayRetry, type Upload, type Uploads } from './uploads.ts'

export function UploadList({ uploads }: { uploads: Uploads }) {
  const words = useMessages(sharedMessages)
  const { all, isBusy } = uploads
  if (all.length === 0) return null
  const sent = all.filter(({ state }) => state === 'sent').length
  const failed = all.filter(({ state }) => state === 'failed').length
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
      <ul class="max-h-64 overflow-y-auto" tabIndex={0} aria-label={words.uploads}>
        {all.map(each => (
          <Row key={each.id} upload={each} onRetry={() => uploads.retry(each.id)} />
        ))}
      </ul>
    </Card>
  )
}

function Row({ upload, onRetry }: { upload: Upload; onRetry(): void }) {
  const words = useMessages(sharedMessages)
  const format = useFormat()
  return (
    <li class="flex min-h-9 items-center gap-3 border-t px-4 py-1.5">
      <span class="min-w-0 flex-1 truncate">{upload.file.name}</span>
      <span class="text-sm text-faint max-sm:hidden">{format.bytes(upload.file.size)}</span>
      <span class="flex max-w-[60%] items-center gap-1.5 text-sm text-muted">
        <State upload={upload} />
      </span>
      {mayRetry(upload) && <IconButton icon={RotateCw} size="sm" label={words.retry} onClick={onRetry} />}
    </li>
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
          <span>{words.notSent(reasonOf(upload.error, words.noAnswer))}</span>
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
