/** Chooses the language of a response by Accept-Language (RFC 9110, 12.5.4). */
import type { Language } from '../../errors/errors.ts'

const range = /^\s*([a-z]{1,8}|\*)(?:-[a-z0-9-]*)?\s*(?:;\s*q=(0(?:\.\d*)?|1(?:\.0*)?)\s*)?$/i

/**
 * Returns the language with the greater weight; with equal weights, the first. Unsupported languages are ignored. Without a supported
 * language: `otherwise`, the language of the route.
 */
export function languageOf(request: Request, otherwise: Language = 'en'): Language {
  let [best, wanted]: [Language, number] = [otherwise, 0]
  for (const part of (request.headers.get('accept-language') ?? '').split(',')) {
    const [, name, weight = '1'] = range.exec(part) ?? []
    const language = name?.toLowerCase()
    if ((language === 'en' || language === 'pt') && Number(weight) > wanted) [best, wanted] = [language, Number(weight)]
  }
  return best
}
