/** The title and the icon of the window. Both show trouble, so that a tab in the background tells when a person is needed. */

let page = ''
let trouble = 0

const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
const calmIcon = icon?.href ?? ''
const troubleIcon = calmIcon.replace(/favicon\.svg$/, 'favicon-trouble.svg')

function apply(): void {
  const name = page === '' ? 'Retoma' : `${page} · Retoma`
  document.title = trouble > 0 ? `(${trouble}) ${name}` : name
  const wanted = trouble > 0 ? troubleIcon : calmIcon
  if (icon !== null && icon.href !== wanted) icon.href = wanted
}

export function setPageTitle(title: string): void {
  page = title
  apply()
}

/** `count`: the number of open incidents. */
export function setTrouble(count: number): void {
  trouble = count
  apply()
}
