/** Formats numbers for a person, in the language of the reader. */
import type { Language } from '../../errors/errors.ts'

const locale = { en: 'en', pt: 'pt-BR' }

/** `12,345` */
export const whole = (number: number, language: Language): string => number.toLocaleString(locale[language])

/** Formats the sum of the counts, such as `12,345`. */
export const countOf = (counts: Readonly<Record<string, number>>, language: Language): string =>
  Object.values(counts)
    .reduce((sum, each) => sum + each, 0)
    .toLocaleString(locale[language])

/** `1.2 MB` */
export function sizeOf(bytes: number, language: Language): string {
  const [unit, size] = (
    [
      ['GB', 1e9],
      ['MB', 1e6],
      ['kB', 1e3],
    ] as const
  ).find(each => bytes >= each[1]) ?? ['B', 1]
  return `${(bytes / size).toLocaleString(locale[language], { maximumFractionDigits: 1 })} ${unit}`
}

/** `90.0`, always with a single decimal. */
export const oneDecimal = (number: number, language: Language): string =>
  number.toLocaleString(locale[language], { minimumFractionDigits: 1, maximumFractionDigits: 1 })
