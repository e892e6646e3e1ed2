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
          return title && text.includes(title) ? [] : [`row ${number}: ${file} has no test "${title}"`]
        }),
  )
}

const page = readFileSync(`${root}docs/seeds.md`, 'utf8')
const [table, differences] = page.split('## Where we differ, and why') as [string, string]

test('every one of the 224 promises has its row, in order', () => {
  expect(rowsOf(table).map(row => row.number)).toEqual(Array.from({ length: 224 }, (_, i) => i + 1))
})

test('every proof names a test that exists', () => {
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
