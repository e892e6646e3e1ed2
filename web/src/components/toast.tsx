/** Short reports of what an action did. A report of a failure stays until it is closed. */
import { CircleCheck, CircleX, Info, X } from 'lucide-react'
import { type ComponentChildren, createContext } from 'preact'
import { useCallback, useContext, useMemo, useState } from 'react'
import { createPortal } from 'react-dom'
import { useMessages } from '../i18n/messages.ts'
import { IconButton } from './button.tsx'
import { componentMessages } from './messages.ts'
import { useTopDialog } from './modal.ts'

type Kind = 'good' | 'bad' | 'info'

interface Toast {
  id: number
  kind: Kind
  text: string
  action?: { label: string; run(): void } | undefined
}

interface Toasts {
  /** `action`: such as an undo. */
  show(kind: Kind, text: string, action?: Toast['action']): void
}

const ToastContext = createContext<Toasts>({ show: () => {} })

const icons = { good: CircleCheck, bad: CircleX, info: Info }
const inks = { good: 'text-good', bad: 'text-bad', info: 'text-busy' }
const shownMs = 6000

let nextId = 1

export function ToastProvider({ children }: { children: ComponentChildren }) {
  const words = useMessages(componentMessages)
  const home = useTopDialog() ?? document.body
  const [toasts, setToasts] = useState<readonly Toast[]>([])
  const remove = useCallback((id: number) => setToasts(all => all.filter(each => each.id !== id)), [])
  const value = useMemo<Toasts>(
    () => ({
      show(kind, text, action) {
        const id = nextId++
        setToasts(all => [...all.slice(-3), { id, kind, text, action }])
        if (kind !== 'bad') setTimeout(() => remove(id), shownMs)
      },
    }),
    [remove],
  )
  return (
    <ToastContext.Provider value={value}>
      {children}
      {createPortal(
        <div
          aria-live="polite"
          class="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex flex-col items-end gap-2 max-nav:bottom-18"
        >
          {toasts.map(({ id, kind, text, action }) => {
            const Icon = icons[kind]
            return (
              <div
                key={id}
                class="pointer-events-auto flex max-w-md items-center gap-2 rounded-lg border border-line-strong bg-raised py-1.5 pr-1.5 pl-3"
              >
                <Icon size={16} className={inks[kind]} aria-hidden="true" />
                <span class="min-w-0">{text}</span>
                {action !== undefined && (
                  <button
                    type="button"
                    class="px-1 font-medium text-accent"
                    onClick={() => {
                      action.run()
                      remove(id)
                    }}
                  >
                    {action.label}
                  </button>
                )}
                <IconButton icon={X} size="sm" label={words.close} onClick={() => remove(id)} />
              </div>
            )
          })}
        </div>,
        home,
      )}
    </ToastContext.Provider>
  )
}

export const useToast = (): Toasts => useContext(ToastContext)
