/** Dialogs on the element of the browser, which holds the focus and closes with Escape. */
import { X } from 'lucide-react'
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'react'
import { useMessages } from '../i18n/messages.ts'
import { Button, IconButton } from './button.tsx'
import { componentMessages } from './messages.ts'
import { useModal } from './modal.ts'

interface DialogProps {
  title: ComponentChildren
  onClose(): void
  actions?: ComponentChildren
  children: ComponentChildren
}

/** The first field of the content, or the first button of the actions: the browser would choose the button that closes. */
const firstFocus =
  '[data-dialog-content] :is(input, textarea, select, button):enabled, [data-dialog-actions] button:enabled'

/** Shown while it is part of the page. */
export function Dialog({ title, onClose, actions, children }: DialogProps) {
  const words = useMessages(componentMessages)
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  const closed = useModal(element, onClose, firstFocus)
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      tabIndex={-1}
      class="m-auto w-[min(32rem,calc(100vw-2rem))] rounded-lg border border-line-strong bg-raised p-0 text-left text-ink outline-none backdrop:bg-overlay"
      onClose={closed}
      onClick={event => event.target === element.current && element.current?.close()}
    >
      <div class="flex flex-col">
        <header class="flex items-center gap-2 border-b px-4 py-2">
          <h2 id={id} class="text-md font-semibold">
            {title}
          </h2>
          <span class="ml-auto">
            <IconButton icon={X} label={words.close} size="sm" onClick={onClose} />
          </span>
        </header>
        <div data-dialog-content class="px-4 py-4">
          {children}
        </div>
        {actions !== undefined && (
          <footer data-dialog-actions class="flex flex-wrap justify-end gap-2 border-t px-4 py-3">
            {actions}
          </footer>
        )}
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  title: ComponentChildren
  /** Says exactly what will happen: "12 itens voltam à fila". */
  children: ComponentChildren
  /** The verb of the action. */
  action: string
  danger?: boolean
  busy?: boolean
  onConfirm(): void
  onClose(): void
}

export function Confirm({ title, children, action, danger = false, busy = false, onConfirm, onClose }: ConfirmProps) {
  const words = useMessages(componentMessages)
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{words.cancel}</Button>
          <Button look={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      {children}
    </Dialog>
  )
}
