import type { Language } from '../errors.ts'

/** Portuguese, unless English is asked for. */
export const languageOf = (request: Request): Language =>
  /^\s*en\b/i.test(request.headers.get('accept-language') ?? '') ? 'en' : 'pt'
