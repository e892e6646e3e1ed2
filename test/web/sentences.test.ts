/** Every sentence of the dashboard with a value, in both languages, for a reader: sentences.txt is reviewed when it changes. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'

// The language of a browser needs a browser.
vi.mock('../../web/src/i18n/language.ts', () => ({ useLanguage: () => 'en' }))

const folder = fileURLToPath(new URL('../../web/src/', import.meta.url))

type Sentence = (...values: never[]) => string
type Dictionary = { readonly [name: string]: string | Sentence | Dictionary }

const withNumber = (sentence: Sentence, n: number): string =>
  sentence(...(Array.from({ length: Math.max(1, sentence.length) }, () => n) as never[]))

/** True if the sentence has more than the number changed between one and two. */
const isCounted = (sentence: Sentence): boolean =>
  withNumber(sentence, 1).replaceAll('1', '2') !== withNumber(sentence, 2).replaceAll('1', '2')

function linesOf(dictionary: Dictionary, path: string): string[] {
  return Object.entries(dictionary).flatMap(([name, value]) => {
    if (typeof value === 'object') return linesOf(value, `${path}.${name}`)
    if (typeof value === 'string') return []
    const numbers = isCounted(value) ? [0, 1, 2] : [1]
    return numbers.map(n => `${path}.${name}(${n}): ${withNumber(value, n)}`)
  })
}

test('each counted sentence agrees with 0, 1 and 2 in both languages', async () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('messages.ts') && file !== 'i18n/messages.ts')
    .sort()
  const lines: string[] = []
  for (const file of files) {
    const module = (await import(`${folder}${file}`)) as Record<string, unknown>
    for (const dictionaries of Object.values(module))
      if (typeof dictionaries === 'object' && dictionaries !== null)
        for (const [language, words] of Object.entries(dictionaries))
          lines.push(...linesOf(words as Dictionary, `${file} ${language}`))
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('sentences.txt')
})
