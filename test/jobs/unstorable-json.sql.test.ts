import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanText } from '../../src/lib/values/json.ts'
import { encodeStored } from '../../src/lib/values/value-codec.ts'
import { storeForFile } from '../support/store.ts'

const store = storeForFile()

/** Texts full of what is hard: NUL, halves of pairs, backslashes, the letters of an escape. */
const hardText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u0000',
        '\ud83d',
        '\ude00',
        '\\',
        '"',
        'u0000',
        'ud800',
        '\\u0000',
        '\n',
        '\u001f',
        'é',
        '€',
        '😀',
      ),
      fc.string({ unit: 'binary' }),
    ),
  )
  .map(parts => parts.join(''))
const hardValue = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    hardText,
    fc.double(),
    fc.constantFrom(null, true, 1e308, 5e-324, -0, 2 ** 53),
    fc.array(tie('value')),
    fc.dictionary(hardText, tie('value')),
  ),
})).value

const refusedBy = async (values: unknown[], cast: string): Promise<string[]> => {
  try {
    await store.sql(`select count(x) from unnest($1::${cast}[]) as x`, [values])
    return []
  } catch (error) {
    if (values.length === 1) return [`${JSON.stringify(values[0])}: ${(error as Error).message}`]
    const half = values.length / 2
    return [...(await refusedBy(values.slice(0, half), cast)), ...(await refusedBy(values.slice(half), cast))]
  }
}

test('every value that the codec accepts is accepted by PostgreSQL, and comes back the same', async () => {
  const values = fc.sample(hardValue, 2000)
  const accepted = values.flatMap(value => {
    const checked = encodeStored(value, 'input')
    return checked.ok ? [checked.text] : []
  })
  expect(accepted.length).toBeGreaterThan(300)
  expect(await refusedBy(accepted, 'jsonb')).toEqual([])
  const rows = await store.sql<{ x: unknown }>(`select x from unnest($1::jsonb[]) as x`, [accepted])
  expect(rows.map(row => row.x)).toEqual(accepted.map(text => JSON.parse(text)))
})

test('every value that the codec refuses for its characters is refused by PostgreSQL, too', async () => {
  const refused = fc.sample(hardValue, 500).filter(value => !encodeStored(value, 'input').ok)
  expect(refused.length).toBeGreaterThan(50)
  for (const value of refused.slice(0, 100)) expect(await refusedBy([JSON.stringify(value)], 'jsonb')).toHaveLength(1)
})

test('the deepest and the longest that the codec accepts are accepted by PostgreSQL', async () => {
  const deepest = JSON.parse('['.repeat(1000) + ']'.repeat(1000))
  const longest = 'é'.repeat(4 * 1024 * 1024 - 1)
  const texts = [deepest, longest].map(value => {
    const checked = encodeStored(value, 'input')
    return checked.ok ? checked.text : 'refused'
  })
  expect(await refusedBy(texts, 'jsonb')).toEqual([])
})

test('every cleaned text is accepted by PostgreSQL', async () => {
  const texts = fc.sample(hardText, 2000).map(cleanText)
  expect(await refusedBy(texts, 'text')).toEqual([])
  expect(
    await refusedBy(
      texts.map(text => JSON.stringify({ message: text })),
      'jsonb',
    ),
  ).toEqual([])
})
