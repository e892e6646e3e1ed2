/** Buttons. A page has at most one primary button; what cannot be undone is `danger` and asks first (`Confirm`). */
import type { LucideIcon } from 'lucide-react'
import type { ComponentChildren, JSX } from 'preact'
import { classes } from '../lib/classes.ts'
import { Spinner } from './spinner.tsx'
import { Tooltip } from './tooltip.tsx'

type Look = 'primary' | 'secondary' | 'quiet' | 'danger'

const looks: Record<Look, string> = {
  primary: 'bg-accent-fill text-on-accent border-transparent hover:bg-accent-fill-hover',
  secondary: 'bg-surface text-ink border-line-strong hover:bg-hover',
  quiet: 'bg-transparent text-muted border-transparent hover:bg-hover hover:text-ink',
  danger: 'bg-surface text-bad border-line-strong hover:bg-bad-soft hover:border-bad',
}

const shape =
  'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors disabled:opacity-50 disabled:pointer-events-none'

type ButtonAttributes = Omit<JSX.IntrinsicElements['button'], 'size' | 'icon' | 'label'>

interface ButtonProps extends ButtonAttributes {
  look?: Look
  size?: 'sm' | 'md'
  icon?: LucideIcon
  /** The action runs: the button shows so and cannot be pressed again. */
  busy?: boolean
  children: ComponentChildren
}

export function Button({
  look = 'secondary',
  size = 'md',
  icon: Icon,
  busy = false,
  children,
  class: more,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={busy || rest.disabled === true}
      aria-busy={busy}
      class={classes(
        shape,
        looks[look],
        size === 'sm' ? 'h-7 px-2 text-sm' : 'h-8 px-3 text-base',
        more as string | undefined,
      )}
    >
      {busy ? <Spinner /> : Icon !== undefined && <Icon size={14} aria-hidden="true" />}
      {children}
    </button>
  )
}

interface IconButtonProps extends ButtonAttributes {
  icon: LucideIcon
  /** Read aloud, and shown on hover and focus. */
  label: string
  look?: Look
  size?: 'sm' | 'md'
}

export function IconButton({ icon: Icon, label, look = 'quiet', size = 'md', class: more, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        class={classes(shape, looks[look], size === 'sm' ? 'size-7' : 'size-8', more as string | undefined)}
      >
        <Icon size={size === 'sm' ? 14 : 16} aria-hidden="true" />
      </button>
    </Tooltip>
  )
}
