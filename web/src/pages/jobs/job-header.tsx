/** The head of a job: kind, state, where it belongs, and its actions. */

import type { LucideIcon } from 'lucide-react'
import { Ban, Play, RefreshCw, RotateCw, SkipForward, Terminal } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { Link } from 'wouter'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Cost } from '../../components/cost.tsx'
import { Menu, type MenuItem } from '../../components/menu.tsx'
import { componentMessages } from '../../components/messages.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { useToast } from '../../components/toast.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { PageHeader } from '../../layout/page-header.tsx'
import { withBase } from '../../lib/base-path.ts'
import { copyText } from '../../lib/copy-text.ts'
import { actionsOf, type JobActionName, type JobDetail } from './job-model.ts'
import { jobMessages } from './messages.ts'

const icons: Readonly<Record<JobActionName, LucideIcon>> = {
  retry: RotateCw,
  resume: Play,
  rerun: RefreshCw,
  skip: SkipForward,
  cancel: Ban,
}

const mainActions: readonly JobActionName[] = ['retry', 'resume', 'cancel']

interface JobHeaderProps {
  job: JobDetail
  /** The action that the explanation offers; the header does not repeat its button. */
  advised: string | undefined
  onAsk(action: JobActionName): void
}

export function JobHeader({ job, advised, onAsk }: JobHeaderProps) {
  const words = useMessages(jobMessages)
  const canAct = useCan('operator')
  const possible = canAct ? actionsOf(job.state).filter(action => action !== advised) : []
  const [main] = possible.filter(action => mainActions.includes(action))
  return (
    <PageHeader
      title={`${job.kind} #${job.id}`}
      parent={{ href: '/jobs', name: words.title }}
      mark={<StateBadge state={job.state} />}
      subtitle={<Facts job={job} />}
      actions={
        <>
          {main !== undefined && (
            <Button icon={icons[main]} look={main === 'cancel' ? 'danger' : 'secondary'} onClick={() => onAsk(main)}>
              {words[main]}
            </Button>
          )}
          <MoreMenu job={job} actions={possible.filter(action => action !== main)} onAsk={onAsk} />
        </>
      }
    />
  )
}

/** Underlined: beside a text of the same colour a link needs more than its colour. */
const link = 'underline decoration-line-strong underline-offset-2 hover:decoration-current'

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <span class="min-w-0">
      {name} <span class="text-ink">{children}</span>
    </span>
  )
}

function Facts({ job }: { job: JobDetail }) {
  const words = useMessages(jobMessages)
  return (
    <span class="flex flex-wrap gap-x-3">
      {job.ref !== null && <Fact name={words.ref}>{job.ref}</Fact>}
      {job.batch_id !== null && (
        <Fact name={words.batch}>
          <Link href={`/batches/${job.batch_id}`} class={link}>
            #{job.batch_id}
          </Link>
        </Fact>
      )}
      <Fact name={words.queue}>
        <Link href={`/queues/${encodeURIComponent(job.queue)}`} class={link}>
          {job.queue}
        </Link>
      </Fact>
      <Fact name={words.priority}>{job.priority}</Fact>
      {job.key !== null && <Fact name={words.key}>{job.key}</Fact>}
      {job.group_key !== null && (
        <Fact name={words.group}>
          <Link href={`/jobs?group=${encodeURIComponent(job.group_key)}`} class={link}>
            {job.group_key}
          </Link>
        </Fact>
      )}
      {job.worker !== null && (
        <Fact name={words.worker}>
          <Link href={`/jobs?worker=${encodeURIComponent(job.worker)}`} class={link}>
            {job.worker}
          </Link>
        </Fact>
      )}
      <Fact name={words.attempts}>{job.starts}</Fact>
      {job.cost.length > 0 && (
        <Fact name={words.cost}>
          <Cost cost={job.cost} />
        </Fact>
      )}
      <Fact name={words.created}>
        <RelativeTime at={job.created_at} />
      </Fact>
    </span>
  )
}

function MoreMenu({ job, actions, onAsk }: Omit<JobHeaderProps, 'advised'> & { actions: readonly JobActionName[] }) {
  const words = useMessages(jobMessages)
  const common = useMessages(componentMessages)
  const toast = useToast()
  const copy = (text: string) =>
    void copyText(text).then(
      () => toast.show('info', words.copied),
      () => toast.show('bad', common.copyFailed),
    )
  const address = `${location.origin}${withBase(`/api/v1/jobs/${job.id}`)}`
  const items: MenuItem[] = [
    ...actions.map(action => ({
      label: words[action],
      icon: icons[action],
      danger: action === 'cancel',
      onSelect: () => onAsk(action),
    })),
    {
      label: words.copyCurl,
      icon: Terminal,
      onSelect: () => copy(`curl -H "authorization: Bearer $RETOMA_TOKEN" '${address}'`),
    },
    { label: words.copyCli, icon: Terminal, onSelect: () => copy(`retoma jobs show ${job.id}`) },
  ]
  return <Menu items={items} />
}
