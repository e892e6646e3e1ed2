/** Which language is spoken, and that both can say the same. */
import { expect, test } from 'vitest'
import { languageOf, words } from '../../src/cli/words/index.ts'

test.each([
  [{ LANG: 'pt_BR.UTF-8' }, 'pt'],
  [{ LANG: 'pt' }, 'pt'],
  [{ LANG: 'PT_PT' }, 'pt'],
  [{ LANG: 'en_US.UTF-8' }, 'en'],
  [{ LANG: 'C.UTF-8' }, 'en'],
  [{ LANG: 'ptolemaic' }, 'en'],
  [{}, 'en'],
  [{ LC_ALL: 'en_US', LANG: 'pt_BR' }, 'en'],
  [{ LC_ALL: '', LC_MESSAGES: 'pt_BR', LANG: 'en_US' }, 'pt'],
])('%j is %s', (environment, language) => {
  expect(languageOf(environment)).toBe(language)
})

test('no word is missing or left in English', () => {
  const texts = (part: object): [string, string][] =>
    Object.entries(part).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value]] : typeof value === 'object' ? texts(value) : [],
    )
  const english = texts(words.en.help)
  const portuguese = new Map(texts(words.pt.help))
  for (const [name, text] of english) expect(portuguese.get(name), name).not.toBe(text)
})
