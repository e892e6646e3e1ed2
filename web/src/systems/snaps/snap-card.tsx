/** One image of the gallery, with its state and its measures. */
import { Download, ImageOff, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { type ItemOf, useAction } from '../../api/query.ts'
import { useCan } from '../../api/session.ts'
import { Confirm } from '../../components/dialog.tsx'
import { Menu } from '../../components/menu.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { useToast } from '../../components/toast.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { withBase } from '../../lib/base-path.ts'
import { StatusBadge } from '../shared/status-badge.tsx'
import { snapsMessages } from './messages.ts'

type Snap = ItemOf<'GET /api/snaps'>

export function SnapCard({ snap }: { snap: Snap }) {
  const words = useMessages(snapsMessages)
  const format = useFormat()
  const { id, name, status, size, result, last_error, duplicate_of, similar_to, attempt_count, next_retry_at } = snap
  const path = withBase(`/api/snaps/${encodeURIComponent(id)}/image`)
  return (
    <li class="flex min-w-0 flex-col overflow-hidden rounded-lg border bg-surface">
      <div class="flex h-36 items-center justify-center bg-sunken">
        {status === 'FAILED' ? (
          <ImageOff size={24} className="text-faint" aria-hidden="true" />
        ) : (
          <img src={path} alt={words.image(name)} loading="lazy" class="size-full object-cover" />
        )}
      </div>
      <div class="flex flex-1 flex-col gap-1 p-3">
        <div class="flex items-center gap-2">
          <span class="min-w-0 flex-1 truncate font-medium" title={name}>
            {name}
          </span>
          <SnapMenu snap={snap} path={path} />
        </div>
        <div class="flex flex-wrap items-center gap-2 text-sm text-muted">
          <StatusBadge status={status} />
          <RelativeTime at={snap.created_at} />
        </div>
        {result !== null && (
          <>
            <p class="text-sm text-muted">
              {words.size(result.width, result.height)}, {format.bytes(size)}
              {result.blur_score !== null && `, ${words.blur(format.number(Math.round(result.blur_score)))}`}
            </p>
            <Colours colours={result.dominant_colors} />
          </>
        )}
        {last_error !== null && <p class="text-sm text-bad">{last_error}</p>}
        {next_retry_at !== null && (
          <p class="text-sm text-muted">
            {words.attempt(attempt_count)}, {words.retryAt} <RelativeTime at={next_retry_at} />
          </p>
        )}
        {duplicate_of !== null ? (
          <p class="text-sm text-warn">{words.duplicate(duplicate_of)}</p>
        ) : (
          similar_to !== null && <p class="text-sm text-muted">{words.similar(similar_to)}</p>
        )}
      </div>
    </li>
  )
}

function Colours({ colours }: { colours: NonNullable<Snap['result']>['dominant_colors'] }) {
  const words = useMessages(snapsMessages)
  const text = colours.map(({ hex }) => hex).join(', ')
  if (colours.length === 0) return null
  return (
    <div role="img" aria-label={`${words.colours}: ${text}`} title={text} class="flex h-2 overflow-hidden rounded-full">
      {colours.map(({ hex, share }) => (
        <span key={hex} style={{ backgroundColor: hex, flexGrow: share }} />
      ))}
    </div>
  )
}

function SnapMenu({ snap: { id, name }, path }: { snap: Snap; path: string }) {
  const words = useMessages(snapsMessages)
  const may = useCan('operator')
  const toast = useToast()
  const [asks, setAsks] = useState(false)
  const erase = useAction('DELETE /api/snaps/{id}')
  const run = () =>
    erase.mutate(
      { params: { id } },
      {
        onSuccess: () => toast.show('good', words.erased),
        onError: error => toast.show('bad', error.message),
        onSettled: () => setAsks(false),
      },
    )
  return (
    <>
      <Menu
        items={[
          { label: words.download, icon: Download, onSelect: () => location.assign(path) },
          ...(may ? [{ label: words.erase, icon: Trash2, danger: true, onSelect: () => setAsks(true) }] : []),
        ]}
      />
      {asks && (
        <Confirm
          title={words.eraseTitle(name)}
          action={words.erase}
          danger
          busy={erase.isPending}
          onConfirm={run}
          onClose={() => setAsks(false)}
        >
          {words.eraseText}
        </Confirm>
      )}
    </>
  )
}
