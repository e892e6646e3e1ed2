/** The head of a batch: name, state, where it runs, and its actions. */
import { Ban, Braces, ChevronsUp, FileSpreadsheet, Pause, Play, RotateCw, Terminal } from 'lucide-react'
import { Link } from 'wouter'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Menu, type MenuItem } from '../../components/menu.tsx'
import { componentMessages } from '../../components/messages.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { withBase } from '../../lib/base-path.ts'
import { copyText } from '../../lib/copy-text.ts'
import { type Asked, possible } from './batch-dialogs.tsx'
import type { BatchView } from './batch-model.ts'
import { useExport } from './export-items.ts'
import { batchMessages } from './messages.ts'

interface BatchHeaderProps {
  batch: BatchView
  /** The action that the explanation offers; the header does not repeat its button. */
  advised: string | undefined
  onAsk(asked: Asked): void
}

export function BatchHeader({ batch, advised, onAsk }: BatchHeaderProps) {
  const words = useMessages(batchMessages)
  const canAct = useCan('operator')
  const can = possible(batch)
  return (
    <PageHeader
      title={`${batch.name} #${batch.id}`}
      parent={{ href: '/batches', name: words.title }}
      mark={<StateBadge state={batch.state} />}
      subtitle={
        <span class="flex flex-wrap gap-x-3">
          <span>
            {words.kind}{' '}
            <Link href={`/jobs?kind=${encodeURIComponent(batch.kind)}`} class="text-ink hover:underline">
              {batch.kind}
            </Link>
          </span>
          <span>
            {words.queue}{' '}
            <Link href={`/queues/${encodeURIComponent(batch.queue)}`} class="text-ink hover:underline">
              {batch.queue}
            </Link>
          </span>
          <span>
            {words.priority} {batch.priority}
          </span>
          {batch.key !== null && (
            <span>
              {words.key} <span class="font-mono text-sm">{batch.key}</span>
            </span>
          )}
          <span>
            {words.created} <RelativeTime at={batch.created_at} />
          </span>
        </span>
      }
      actions={
        <>
          {canAct && can.pause && (
            <Button icon={Pause} onClick={() => onAsk({ do: 'pause' })}>
              {words.pause}
            </Button>
          )}
          {canAct && can.retry && advised !== 'retry_failed' && (
            <Button icon={RotateCw} onClick={() => onAsk({ do: 'retry' })}>
              {words.retryFailed}
            </Button>
          )}
          {canAct && can.resume && advised !== 'resume' && (
            <Button icon={Play} onClick={() => onAsk({ do: 'resume' })}>
              {words.resume}
            </Button>
          )}
          <MoreMenu batch={batch} onAsk={onAsk} />
        </>
      }
    />
  )
}

function MoreMenu({ batch, onAsk }: { batch: BatchView; onAsk(asked: Asked): void }) {
  const words = useMessages(batchMessages)
  const canAct = useCan('operator')
  const can = possible(batch)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const exportAs = useExport(batch)
  const copy = (text: string) =>
    void copyText(text).then(
      () => toast.show('info', words.copied),
      () => toast.show('bad', common.copyFailed),
    )
  const address = `${location.origin}${withBase(`/api/v1/batches/${batch.id}`)}`
  const items: MenuItem[] = [
    { label: words.exportCsv, icon: FileSpreadsheet, onSelect: () => void exportAs('csv') },
    { label: words.exportJson, icon: Braces, onSelect: () => void exportAs('json') },
    {
      label: words.copyCurl,
      icon: Terminal,
      onSelect: () => copy(`curl -H "authorization: Bearer $RETOMA_TOKEN" '${address}'`),
    },
    { label: words.copyCli, icon: Terminal, onSelect: () => copy(`retoma batch show ${batch.id} --watch`) },
    ...(canAct && can.priority
      ? [{ label: words.setPriority, icon: ChevronsUp, onSelect: () => onAsk({ do: 'priority' }) }]
      : []),
    ...(canAct && can.cancel
      ? [{ label: words.cancel, icon: Ban, danger: true, onSelect: () => onAsk({ do: 'cancel' }) }]
      : []),
  ]
  return <Menu items={items} />
}
