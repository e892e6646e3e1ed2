/** The browser asks before it closes the page while something is on its way to the server, whichever page of the dashboard is shown. */

const owners = new Set<object>()

const warn = (event: BeforeUnloadEvent): void => event.preventDefault()

/** `owner` has something on its way, or no longer has. */
export function setLeaveWarning(owner: object, isBusy: boolean): void {
  if (isBusy) owners.add(owner)
  else owners.delete(owner)
  if (owners.size > 0) addEventListener('beforeunload', warn)
  else removeEventListener('beforeunload', warn)
}
