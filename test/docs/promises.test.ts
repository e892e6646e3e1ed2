/** docs/promises.md names the tests that hold each promise; each named test must exist. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Proof {
  file: string
  title: string
}

const proofsIn = (text: string): Proof[] =>
  [...text.matchAll(/^([\w/.-]+\.test\.ts): (.+)$/gm)].map(([, file, title]) => ({ file: file!, title: title! }))

const missing = (proofs: readonly Proof[], read: (file: string) => string): string[] =>
  proofs
    .filter(({ file, title }) => !["'", '"', '`'].some(quote => read(file).includes(`${quote}${title}${quote}`)))
    .map(({ file, title }) => `${file} has no test "${title}"`)

const readFile = (file: string) => (existsSync(root + file) ? readFileSync(root + file, 'utf8') : '')
const sections = readFile('docs/promises.md')
  .split(/^## /m)
  .filter(section => /^P\d+\./.test(section))

test('each of the ten promises names a test', () => {
  expect(sections.map(section => section.split('.')[0])).toEqual(Array.from({ length: 10 }, (_, i) => `P${i + 1}`))
  expect(sections.filter(section => proofsIn(section).length === 0)).toEqual([])
})

test('each named test exists', () => {
  expect(missing(sections.flatMap(proofsIn), readFile)).toEqual([])
})

test('a test that does not exist is reported', () => {
  const proofs = proofsIn('test/a.test.ts: holds\ntest/a.test.ts: breaks')
  expect(missing(proofs, () => "test('holds', () => {})")).toEqual(['test/a.test.ts has no test "breaks"'])
})
