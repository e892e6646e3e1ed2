/** A short text on hover and on focus. The element itself must be readable without the text (aria-label or text). */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'react'
import { createPortal } from 'react-dom'

interface Place {
  left: number
  top: number
  above: boolean
}

export function Tooltip({ text, children }: { text: string; children: ComponentChildren }) {
  const [place, setPlace] = useState<Place>()
  const anchor = useRef<HTMLSpanElement>(null)
  const show = () => {
    const box = anchor.current?.firstElementChild?.getBoundingClientRect()
    if (box === undefined) return
    const above = box.top > 60
    const left = Math.min(Math.max(box.left + box.width / 2, 90), innerWidth - 90)
    setPlace({ left, top: above ? box.top - 6 : box.bottom + 6, above })
  }
  const hide = () => setPlace(undefined)
  return (
    <span
      ref={anchor}
      class="contents"
      onMouseEnter={show}
      onMouseLeave={hide}
      onFocusIn={show}
      onFocusOut={hide}
      onClick={hide}
    >
      {children}
      {place !== undefined &&
        createPortal(
          <span
            role="tooltip"
            aria-hidden="true"
            class="pointer-events-none fixed z-60 max-w-64 -translate-x-1/2 rounded-md border border-line-strong bg-raised px-2 py-1 text-sm text-ink"
            style={{
              left: `${place.left}px`,
              top: `${place.top}px`,
              transform: `translate(0, ${place.above ? '-100%' : '0'})`,
            }}
          >
            {text}
          </span>,
          document.body,
        )}
    </span>
  )
}
