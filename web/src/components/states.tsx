/** Places without data: an empty list, a failure, or the shape of data under way. */
import { CircleX, type LucideIcon, RotateCw } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useMessages } from '../i18n/messages.ts'
import { classes } from '../lib/classes.ts'
import { Button } from './button.tsx'
import { componentMessages } from './messages.ts'

interface EmptyStateProps {
  icon?: LucideIcon
  title: ComponentChildren
  /** Teaches what fills this place. */
  children?: ComponentChildren
  /** The button that fills it. */
  action?: ComponentChildren
  /** Less space: inside a card beside others. */
  small?: boolean
}

export function EmptyState({ icon: Icon, title, children, action, small = false }: EmptyStateProps) {
  return (
    <div class={classes('flex flex-col items-center px-6 text-center', small ? 'gap-1 py-6' : 'gap-2 py-12')}>
      {Icon !== undefined && <Icon size={20} className="text-faint" aria-hidden="true" />}
      <p class={classes('font-medium', small ? 'text-base' : 'text-md')}>{title}</p>
      {children !== undefined && <div class="max-w-prose text-muted">{children}</div>}
      {action !== undefined && <div class="mt-2">{action}</div>}
    </div>
  )
}

interface ErrorStateProps {
  error: { message: string; code?: string; status?: number }
  onRetry?: () => void
}

export function ErrorState({ error, onRetry }: ErrorStateProps) {
  const words = useMessages(componentMessages)
  const text = error.code === 'network' ? words.noAnswer : error.message
  return (
    <div role="alert" class="flex flex-col items-center gap-2 px-6 py-12 text-center">
      <CircleX size={20} className="text-bad" aria-hidden="true" />
      <p class="text-md font-medium">{words.failed}</p>
      <p class="max-w-prose text-muted">{text}</p>
      {onRetry !== undefined && (
        <Button icon={RotateCw} onClick={onRetry} class="mt-2">
          {words.retry}
        </Button>
      )}
    </div>
  )
}

/** Grey bars in the shape of what comes. */
export function Skeleton({ lines = 3, label }: { lines?: number; label?: string }) {
  const words = useMessages(componentMessages)
  return (
    <div role="status" aria-label={label ?? words.loading} class="flex flex-col gap-3 p-4">
      {Array.from({ length: lines }, (_, index) => (
        <div
          key={index}
          class="h-4 animate-pulse-soft rounded-sm bg-idle-soft"
          style={{ width: `${[92, 78, 85, 64][index % 4]}%` }}
        />
      ))}
    </div>
  )
}

interface Loaded<Data> {
  data: Data | undefined
  error: { message: string; code?: string } | null
  refetch(): unknown
}

/** Shows a read of the API: bars while it loads, the error if there is no data, else the data. */
export function Loading<Data>({
  of: { data, error, refetch },
  lines,
  children,
}: {
  of: Loaded<Data>
  lines?: number
  children(data: Data): ComponentChildren
}) {
  if (data !== undefined) return <>{children(data)}</>
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />
  return <Skeleton lines={lines ?? 3} />
}
