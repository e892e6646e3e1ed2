/** Ids are sorted as numbers, never as the text they are shown as: a page that continues after the last id must not skip any. */
import { expect, test } from 'vitest'
import { shadowedSortKeys } from '../support/sort-keys.ts'
import { everyStatement } from '../support/statements.ts'

test.each([
  'select id::text as id from t order by id limit 5',
  'select t.id::text as "id", name from t where id > $1 order by id desc nulls last for update',
  'select id::text, name from t order by name, id',
  'with a as (select id from t order by id) select id::text as id from a order by id',
  'select distinct on (id) id::text as id, count(*) as n from t',
  'select 1 from x where id = any (array(select id::text as id from t order by id))',
  `select coalesce(id, 0)::text as id from t order by id`,
  'select id::text as id from a union all select id::text from b order by id',
])('a sort key that names the text of an id is found: %s', sql => {
  expect(shadowedSortKeys(sql)).not.toEqual([])
})

test.each([
  'select t.id::text as id from t order by t.id limit 5',
  'select id, name from t order by id',
  'select t.id as id from t order by id',
  'select count(*) as n from t group by id order by n desc',
  'select a.id::text as id from (select id from t order by id) a',
  `select array_agg(id order by id) as id from t`,
])('a sort key that names a column, or a value of its own, is fine: %s', sql => {
  expect(shadowedSortKeys(sql)).toEqual([])
})

test('no statement sorts by the text of an id where it means the id', async () => {
  const statements = await everyStatement()
  const found = statements.flatMap(({ name, text }) => shadowedSortKeys(text).map(each => ({ name, ...each })))
  expect(found).toEqual([])
  // Most statements that sort are read by this test; a change of the reader must not make them vanish.
  expect(statements.filter(({ text }) => text.includes('order by')).length).toBeGreaterThan(80)
})
