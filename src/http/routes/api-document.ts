/** Routes of the documentation: OpenAPI for programs, a page for people. */
import { z } from 'zod'
import type { Language } from '../../errors/errors.ts'
import { docsPage } from '../docs/docs-page.ts'
import { docsStyle } from '../docs/docs-style.ts'
import type { OpenApi } from '../openapi.ts'
import { jsonText } from '../response/json-response.ts'
import { type Route, route } from '../route.ts'

/** The document is made once, on the first request: the routes do not change. */
export function documentRoutes(make: () => OpenApi): readonly Route[] {
  let made: OpenApi | undefined
  const document = () => {
    made ??= make()
    return made
  }
  let text: string | undefined
  const pages = new Map<Language, string>()
  const pageIn = (language: Language): string => {
    const page = pages.get(language) ?? docsPage(document(), language)
    pages.set(language, page)
    return page
  }
  return [
    route({
      method: 'get',
      path: '/api/openapi.json',
      name: 'openapi',
      tag: 'documentation',
      summary: 'Gets this API as OpenAPI 3.1',
      role: 'viewer',
      answer: z.looseObject({ openapi: z.string(), paths: z.looseObject({}) }),
      run({ headers }) {
        text ??= JSON.stringify(document())
        return jsonText(text, 200, headers)
      },
    }),
    route({
      method: 'get',
      path: '/api/docs',
      name: 'docs',
      tag: 'documentation',
      summary: 'Gets this API as a page',
      role: 'viewer',
      answers: 'text/html',
      run({ language, headers }) {
        headers.set('content-type', 'text/html; charset=utf-8')
        return new Response(pageIn(language), { headers })
      },
    }),
    route({
      method: 'get',
      path: '/api/docs.css',
      name: 'docsStyle',
      tag: 'documentation',
      summary: 'Gets the style sheet of the page',
      role: 'open',
      answers: 'text/css',
      run({ headers }) {
        headers.set('content-type', 'text/css; charset=utf-8')
        headers.set('cache-control', 'public, max-age=3600')
        return new Response(docsStyle, { headers })
      },
    }),
  ]
}
