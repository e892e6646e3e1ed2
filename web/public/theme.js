// Runs before the first paint, so that no page flashes in the other theme: the chosen theme, or the theme of the system.
;(() => {
  let kept
  try {
    kept = localStorage.getItem('retoma.theme')
  } catch {
    // Storage may be off; the theme of the system is fine.
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.dataset.theme = kept === 'light' || kept === 'dark' ? kept : dark ? 'dark' : 'light'
})()
