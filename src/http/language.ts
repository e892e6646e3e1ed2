/** The language of an answer, by Accept-Language (RFC 9110, 12.5.4). */
import type { Language } from '../errors.ts'

const range = /^\s*([a-z]{1,8}|\*)(?:-[a-z0-9-]*)?\s*(?:;\s*q=(0(?:\.\d*)?|1(?:\.0*)?)\s*)?$/i

/** The engine's own routes, below whatever base path. The systems' routes are all others. */
const engineRoute = /\/(?:api\/(?:v1|docs|openapi\.json)|health|ready|metrics)(?:\/|$)/

/**
 * The language with the greater weight; of two with the same weight, the first. Languages that we do not speak count for nothing.
 * Without a language that we speak: English on the engine's routes, Portuguese on those of the systems.
 */
export function languageOf(request: Request): Language {
  let [best, wanted]: [Language, number] = [engineRoute.test(new URL(request.url).pathname) ? 'en' : 'pt', 0]
  for (const part of (request.headers.get('accept-language') ?? '').split(',')) {
    const [, name, weight = '1'] = range.exec(part) ?? []
    const language = name?.toLowerCase()
    if ((language === 'en' || language === 'pt') && Number(weight) > wanted) [best, wanted] = [language, Number(weight)]
  }
  return best
}
