/** docs/seeds.md is a promise to check promises: every row is there, and every proof it names exists. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Row {
  number: number
  proof: string
}

function rowsOf(text: string): Row[] {
  return [...text.matchAll(/^\| (\d+) \| .* \| ([^|]+) \|$/gm)].map(([, number, proof]) => ({
    number: Number(number),
    proof: proof!.trim(),
  }))
}

/** A proof is `file: title`, several are divided by `; `, which a title may have as well. */
function missingProofs(rows: readonly Row[], read: (file: string) => string | undefined): string[] {
  return rows.flatMap(({ number, proof }) =>
    proof === 'open' || proof === 'differs'
      ? []
      : proof.split(/; (?=\w+\/)/).flatMap(each => {
          const [file, title] = each.split(/: (.*)/s)
          const text = read(file ?? '')
          if (text === undefined) return [`row ${number}: there is no file ${file}`]
          if (!runsByDefault.test(file!)) return [`row ${number}: ${file} does not run by default`]
          const found = testOf(text, title ?? '')
          if (found === undefined) return [`row ${number}: ${file} has no test "${title}"`]
          return found.maySkip ? [`row ${number}: ${file} may skip the test "${title}"`] : []
        }),
  )
}

/** The files of `npm test` and `npm run test:packages` (vitest.config.ts). */
const runsByDefault = /^(?:src|test|apps|examples)\/.*\.test\.ts$/

const opens = /^\s*(?:test|it|describe|together|togetherEach)\b/
const mayBeSkipped = /\.(?:skip|skipIf|runIf|todo|fails|only)\b/

/**
 * Finds the test with a title by the indentation of its lines: the call, the enclosing `describe`s, and the body. A test may be skipped if
 * the call or a `describe` is conditional, or if the body calls `skip`.
 */
function testOf(text: string, title: string): { maySkip: boolean } | undefined {
  const lines = text.split('\n')
  const quoted = ["'", '"', '`'].map(quote => `${quote}${title}${quote}`)
  const at = lines.findIndex(line => quoted.some(each => line.includes(each)) && !/^\s*(?:\/\/|\*)/.test(line))
  if (at === -1) return undefined
  const indentOf = (line: string) => line.length - line.trimStart().length
  // A title on a line of its own belongs to the call above it.
  let first = at
  while (first >= 0 && !(opens.test(lines[first]!) && indentOf(lines[first]!) <= indentOf(lines[at]!))) first--
  if (first < 0) return undefined
  const around: string[] = []
  for (let n = first - 1, indent = indentOf(lines[first]!); n >= 0 && indent > 0; n--) {
    const line = lines[n]!
    if (line.trim() === '' || indentOf(line) >= indent) continue
    indent = indentOf(line)
    around.push(line)
  }
  let last = at + 1
  while (last < lines.length && (lines[last]!.trim() === '' || indentOf(lines[last]!) > indentOf(lines[first]!))) last++
  const body = lines.slice(at + 1, last)
  return {
    maySkip:
      [...lines.slice(first, at + 1), ...around].some(line => opens.test(line) && mayBeSkipped.test(line)) ||
      body.some(line => /\b(?:context|ctx|task)\.skip\(/.test(line)),
  }
}

const page = readFileSync(`${root}docs/seeds.md`, 'utf8')
const [table, differences] = page.split('## Where we differ, and why') as [string, string]

test('every one of the 224 promises has its row, in order', () => {
  expect(rowsOf(table).map(row => row.number)).toEqual(Array.from({ length: 224 }, (_, i) => i + 1))
})

test('every proof names a test that exists and that is never skipped', () => {
  const read = (file: string) => (existsSync(root + file) ? readFileSync(root + file, 'utf8') : undefined)
  expect(missingProofs(rowsOf(table), read)).toEqual([])
})

test('a row that differs has its reason, and only such a row', () => {
  const reasoned = [...differences.matchAll(/^\| (\d+) \|/gm)].map(([, number]) => Number(number))
  const differing = rowsOf(table)
    .filter(row => row.proof === 'differs')
    .map(row => row.number)
  expect(reasoned).toEqual(differing)
})

test('a proof whose test may be skipped, or does not run by default, is none', () => {
  const text = `
describe.skipIf(!installed)('with it', () => {
  test('one', () => {})
})
describe('without', () => {
  test('two', () => {
    expect(1).toBe(1)
  })
  test.runIf(linux)('three', () => {})
  test.each([1])(
    'four',
    async () => {},
  )
  test('five', context => {
    if (!root) return context.skip('only root')
  })
  test.todo('six')
})
// test('seven')`
  const wrong = (title: string, file = 'test/a.test.ts') =>
    missingProofs([{ number: 1, proof: `${file}: ${title}` }], () => text)
  const skipped = (title: string) => [`row 1: test/a.test.ts may skip the test "${title}"`]
  expect([wrong('two'), wrong('four')]).toEqual([[], []])
  for (const title of ['one', 'three', 'five', 'six']) expect(wrong(title)).toEqual(skipped(title))
  expect(wrong('seven')).toEqual(['row 1: test/a.test.ts has no test "seven"'])
  expect(wrong('two', 'bench/a.mjs')).toEqual(['row 1: bench/a.mjs does not run by default'])
})

test('a proof whose test is gone would be noticed', () => {
  const read = (file: string) => (file === 'test/a.test.ts' ? "test('it holds')" : undefined)
  expect(missingProofs([{ number: 1, proof: 'test/a.test.ts: it holds' }], read)).toEqual([])
  expect(missingProofs([{ number: 2, proof: 'test/a.test.ts: it breaks' }], read)).toEqual([
    'row 2: test/a.test.ts has no test "it breaks"',
  ])
  expect(missingProofs([{ number: 3, proof: 'test/b.test.ts: it holds' }], read)).toEqual([
    'row 3: there is no file test/b.test.ts',
  ])
})
