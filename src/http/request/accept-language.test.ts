import { expect, test } from 'vitest'
import { languageOf } from './accept-language.ts'

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['en', 'en'],
  ['EN', 'en'],
  ['en-GB', 'en'],
  ['en-US,en;q=0.9', 'en'],
  ['pt-BR,pt;q=0.9,en;q=0.8', 'pt'],
  ['pt;q=0.5, en;q=0.9', 'en'],
  ['en, pt', 'en'],
  ['en;q=0, pt', 'pt'],
  ['en;q=0', 'en'],
  ['fr, en;q=0.8', 'en'],
  ['fr', 'en'],
  ['*', 'en'],
  ['english', 'en'],
  [';;;,,,q=, en;q=2, en;q=x', 'en'],
])('Accept-Language %j is answered in %s', (accepted, language) => {
  const headers = accepted === undefined ? {} : { 'accept-language': accepted }
  expect(languageOf(new Request('http://localhost', { headers }))).toBe(language)
})

test('without a language that we speak the route decides, and English is the default', () => {
  const asked = (accepted: string) => new Request('http://localhost', { headers: { 'accept-language': accepted } })
  expect(['fr', 'pt', 'en'].map(accepted => languageOf(asked(accepted), 'pt'))).toEqual(['pt', 'pt', 'en'])
  expect(['fr', 'pt', 'en'].map(accepted => languageOf(asked(accepted)))).toEqual(['en', 'pt', 'en'])
})
