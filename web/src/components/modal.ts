/**
 * Shows a `<dialog>` as long as the component is part of the page. The browser keeps the focus inside of the dialog; at the end the focus
 * returns to the element that had the focus before, or to the content of the page if that element is gone.
 *
 * The rest of the page takes no click while a dialog is open, so the reports of actions are shown inside of the last opened dialog.
 */
import { type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react'

let returned: Element | null = null

/** The element to which the last closed dialog returned the focus. */
export const focusReturnedTo = (): Element | null => returned

let shown: readonly HTMLDialogElement[] = []
const listeners = new Set<() => void>()

function setShown(next: readonly HTMLDialogElement[]): void {
  shown = next
  for (const listener of listeners) listener()
}

/** The last opened dialog that is still open. */
export const useTopDialog = (): HTMLDialogElement | undefined =>
  useSyncExternalStore(
    listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => shown.at(-1),
  )

/** Returns the handler of `close` events. `firstFocus`: a selector of the element that gets the focus. */
export function useModal(
  element: RefObject<HTMLDialogElement | null>,
  onClose: () => void,
  firstFocus?: string,
): () => void {
  const isOver = useRef(false)
  const [before] = useState(() => document.activeElement)
  useEffect(() => {
    const dialog = element.current
    if (dialog === null) return undefined
    dialog.showModal()
    if (firstFocus !== undefined) (dialog.querySelector<HTMLElement>(firstFocus) ?? dialog).focus()
    setShown([...shown, dialog])
    return () => {
      isOver.current = true
      setShown(shown.filter(each => each !== dialog))
      // A dialog that is only removed from the page does not give the focus back.
      dialog.close()
      const isThere = before instanceof HTMLElement && before !== document.body && before.isConnected
      const target = isThere ? before : document.getElementById('content')
      target?.focus({ preventScroll: true })
      returned = target ?? null
    }
  }, [])
  return () => {
    if (!isOver.current) onClose()
  }
}
