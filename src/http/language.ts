/** The language of an answer, by Accept-Language (RFC 9110, 12.5.4). */
import type { Language } from '../errors.ts'

const range = /^\s*([a-z]{1,8}|\*)(?:-[a-z0-9-]*)?\s*(?:;\s*q=(0(?:\.\d*)?|1(?:\.0*)?)\s*)?$/i

/**
 * Portuguese, unless English is wanted, and not less than Portuguese; of two that are wanted as much, the first. Languages that
 * we do not speak count for nothing.
 */
export function languageOf(request: Request): Language {
  let [best, wanted]: [Language, number] = ['pt', 0]
  for (const part of (request.headers.get('accept-language') ?? '').split(',')) {
    const [, name, weight = '1'] = range.exec(part) ?? []
    const language = name?.toLowerCase()
    if ((language === 'en' || language === 'pt') && Number(weight) > wanted) [best, wanted] = [language, Number(weight)]
  }
  return best
}
