/** Texts of the page at /api/docs itself; the text of a route is the route's summary. */
import type { Language } from '../../errors/errors.ts'

const words = {
  pt: {
    title: 'API do Retoma',
    raw: 'O mesmo em OpenAPI 3.1',
    intro:
      'JSON em snake_case. Erros são { "error": { "code", "message", … } }, no idioma de Accept-Language; sem ele, em inglês nas rotas de /api/v1 e em português nas dos sistemas. ' +
      'Listas respondem { "items", "next" }: devolva next em after para a página seguinte.',
    role: { open: 'sem token', cron: 'CRON_SECRET', viewer: 'viewer', operator: 'operator', admin: 'admin' },
    who: 'Quem pode',
    parameters: 'Parâmetros',
    body: 'Corpo',
    optional: 'pode faltar',
    required: 'obrigatório',
    answers: 'Respostas',
    schemas: 'Formatos',
  },
  en: {
    title: 'The API of Retoma',
    raw: 'The same as OpenAPI 3.1',
    intro:
      'JSON in snake_case. Errors are { "error": { "code", "message", … } }, in the language of Accept-Language; without it, in English on the routes of /api/v1 and in Portuguese on the routes of the systems. ' +
      'Lists answer { "items", "next" }: hand next back as after for the next page.',
    role: { open: 'without a token', cron: 'CRON_SECRET', viewer: 'viewer', operator: 'operator', admin: 'admin' },
    who: 'Who may',
    parameters: 'Parameters',
    body: 'Body',
    optional: 'may be left out',
    required: 'needed',
    answers: 'Answers',
    schemas: 'Forms',
  },
} satisfies Record<Language, unknown>

export type DocsMessages = (typeof words)['en']

export const docsMessages = (language: Language): DocsMessages => words[language]
