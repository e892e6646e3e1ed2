/** The theme of the page: light, dark, or as the system says. `public/theme.js` sets the first theme before the first paint. */
import { useSyncExternalStore } from 'react'
import { createStored, useStored } from './stored.ts'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const isTheme = (text: string): text is Theme => (themes as readonly string[]).includes(text)
const systemIsDark = matchMedia('(prefers-color-scheme: dark)')

export const theme = createStored<Theme>('theme', isTheme, 'system')

const shown = (): 'light' | 'dark' => {
  const chosen = theme.get()
  if (chosen !== 'system') return chosen
  return systemIsDark.matches ? 'dark' : 'light'
}

function apply(): void {
  document.documentElement.dataset.theme = shown()
}

theme.subscribe(apply)
systemIsDark.addEventListener('change', apply)
apply()

export const useTheme = (): Theme => useStored(theme)

function subscribeShown(listener: () => void): () => void {
  const end = theme.subscribe(listener)
  systemIsDark.addEventListener('change', listener)
  return () => {
    end()
    systemIsDark.removeEventListener('change', listener)
  }
}

/** The theme on the screen, for drawings that read colours. */
export const useShownTheme = (): 'light' | 'dark' => useSyncExternalStore(subscribeShown, shown)
