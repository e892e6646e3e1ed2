/** A reader of the tables learns the meaning of every column from its line. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const applications = readdirSync(new URL('apps/', root)).map(name => `apps/${name}/sql/001_baseline.up.sql`)
const files = ['sql/001_baseline.up.sql', ...applications].filter(file => existsSync(new URL(file, root)))

/** The columns of the `create table` statements: two spaces and a name that is no constraint. */
function columnsOf(text: string): { name: string; line: string }[] {
  const columns: { name: string; line: string }[] = []
  for (const [, table, body] of text.matchAll(/^create table (\S+) \(\n([\s\S]*?)^\)/gm))
    for (const line of body!.split('\n')) {
      const name = /^ {2}(?!(?:constraint|primary|unique|foreign|check)\b)([a-z_0-9]+) /.exec(line)?.[1]
      if (name !== undefined) columns.push({ name: `${table}.${name}`, line })
    }
  return columns
}

test('every column of the engine and of the applications has a comment', () => {
  expect(files).toHaveLength(6)
  const columns = files.flatMap(file => columnsOf(readFileSync(new URL(file, root), 'utf8')))
  expect(columns.length).toBeGreaterThan(300)
  expect(columns.filter(({ line }) => !/ -- \S/.test(line)).map(({ name }) => name)).toEqual([])
})
