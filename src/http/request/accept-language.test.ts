import { expect, test } from 'vitest'
import { languageOf } from './accept-language.ts'

test.each([
  [undefined, 'pt'],
  ['', 'pt'],
  ['en', 'en'],
  ['EN', 'en'],
  ['en-GB', 'en'],
  ['en-US,en;q=0.9', 'en'],
  ['pt-BR,pt;q=0.9,en;q=0.8', 'pt'],
  ['pt;q=0.5, en;q=0.9', 'en'],
  ['en, pt', 'en'],
  ['en;q=0, pt', 'pt'],
  ['en;q=0', 'pt'],
  ['fr, en;q=0.8', 'en'],
  ['fr', 'pt'],
  ['*', 'pt'],
  ['english', 'pt'],
  [';;;,,,q=, en;q=2, en;q=x', 'pt'],
])('Accept-Language %j is answered in %s', (accepted, language) => {
  const headers = accepted === undefined ? {} : { 'accept-language': accepted }
  expect(languageOf(new Request('http://localhost', { headers }))).toBe(language)
})

test.each([
  ['/api/v1/jobs/1', undefined, 'en'],
  ['/retoma/api/v1/jobs/1', 'fr', 'en'],
  ['/health', undefined, 'en'],
  ['/api/v1/jobs/1', 'pt-BR', 'pt'],
  ['/execucoes/1', undefined, 'pt'],
  ['/api/quotes/1', undefined, 'pt'],
  ['/execucoes/1', 'en', 'en'],
])(
  'without a language that we speak the engine answers %s in English and a system answers in Portuguese',
  (path, accepted, language) => {
    const headers = accepted === undefined ? {} : { 'accept-language': accepted }
    expect(languageOf(new Request(`http://localhost${path}`, { headers }))).toBe(language)
  },
)
