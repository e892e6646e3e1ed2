/** docs/privacidade.md says what is kept where: a table that it does not name would be kept behind the reader's back. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('every table of the schema is named', () => {
  const schemas = ['sql', ...['classifier', 'quotes', 'documents', 'snaps', 'planner'].map(name => `apps/${name}/sql`)]
    .map(folder => read(`${folder}/schema.sql`))
    .join('')
  const tables = [...schemas.matchAll(/^create table (?:retoma\.)?([\w.]+)/gm)].map(([, name]) => name!)
  const [kept] = read('docs/privacidade.md').split('## O que sai') as [string]
  expect(tables.length).toBeGreaterThan(20)
  expect(tables.filter(name => !kept.includes(`\`${name}\``))).toEqual([])
})
