/** Copies a text. A page without TLS on another host than loopback has no clipboard API; there an element with the text is copied. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  // Inside an open dialog, because the rest of the page takes no focus then.
  const home = document.querySelector('dialog[open]') ?? document.body
  const before = document.activeElement
  home.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  if (!isCopied) throw new Error('copy')
}
