/**
 * Selects the messages of the command line, English or Portuguese, by the locale of the environment. All messages are in en.ts and pt.ts.
 */
import type { Language, LocalizedText } from '../../errors/errors.ts'
import { en } from './en.ts'
import { pt } from './pt.ts'

export type CliMessages = typeof en

export const messagesIn: Readonly<Record<Language, CliMessages>> = { en, pt }

/** For an error, which is worded in the language of each reader. */
export const both = (pick: (word: CliMessages, language: Language) => string): LocalizedText => ({
  en: pick(en, 'en'),
  pt: pick(pt, 'pt'),
})

/** As in POSIX: LC_ALL before LC_MESSAGES before LANG; an empty variable does not count. */
export function languageOf(environment: Readonly<Record<string, string | undefined>>): Language {
  const locale = environment.LC_ALL || environment.LC_MESSAGES || environment.LANG || ''
  return /^pt\b|^pt_/i.test(locale) ? 'pt' : 'en'
}
