/** The language of the dashboard: Portuguese of Brazil or English. Kept by the browser; the first time, as the browser prefers; English if it prefers neither. */
import { createStored, useStored } from '../lib/stored.ts'

export const languages = ['pt-BR', 'en'] as const
export type Language = (typeof languages)[number]

const isLanguage = (text: string): text is Language => (languages as readonly string[]).includes(text)

function preferred(): Language {
  const found = navigator.languages.map(each => each.slice(0, 2)).find(each => each === 'pt' || each === 'en')
  return found === 'pt' ? 'pt-BR' : 'en'
}

export const language = createStored<Language>('language', isLanguage, preferred())

function apply(): void {
  document.documentElement.lang = language.get()
}

language.subscribe(apply)
apply()

export const useLanguage = (): Language => useStored(language)
