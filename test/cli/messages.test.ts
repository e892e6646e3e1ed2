/** The choice of the language, and equal messages in both languages. */
import { expect, test } from 'vitest'
import { languageOf, messagesIn } from '../../src/cli/messages/index.ts'

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
  const english = texts(messagesIn.en.help)
  const portuguese = new Map(texts(messagesIn.pt.help))
  for (const [name, text] of english) expect(portuguese.get(name), name).not.toBe(text)
})

test('how a job is run with care is said in both languages', () => {
  const care = { level: 2, crashedWorker: 'w-1', unexplainedCrashes: 2, restartsWithoutProgress: 3 } as const
  expect(messagesIn.en.jobs.crashSuspicionOf(care)).toBe(
    'alone; suspected of the death of w-1; 2 deaths so far; 3 restarts in a row without a step of progress',
  )
  expect(messagesIn.pt.jobs.crashSuspicionOf(care)).toBe(
    'sozinho; suspeito da morte de w-1; 2 mortes até agora; 3 reinícios seguidos sem avançar uma etapa',
  )
  expect(
    messagesIn.en.jobs.crashSuspicionOf({
      level: 0,
      crashedWorker: null,
      unexplainedCrashes: 0,
      restartsWithoutProgress: 1,
    }),
  ).toBe('as any other; 1 restart without a step of progress')
})
