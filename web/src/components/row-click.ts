/**
 * The click on a row of a table. A link or a control inside the row acts by itself, and a click that asks for another tab or window leaves
 * this page as it is.
 */
export const rowClick = (onRow: () => void) => (event: MouseEvent) => {
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
  const isOnControl =
    event.target instanceof Element && event.target.closest('a, button, input, select, label') !== null
  if (isPlain && !isOnControl && !event.defaultPrevented) onRow()
}
