/** Motion that a script starts. The rule of styles.css for reduced motion does not reach scrolling by a script. */

/** Scrolls to an element, at once if the user wants less motion. */
export function scrollTo(element: Element | null): void {
  const isReduced = matchMedia('(prefers-reduced-motion: reduce)').matches
  element?.scrollIntoView({ block: 'start', behavior: isReduced ? 'auto' : 'smooth' })
}
