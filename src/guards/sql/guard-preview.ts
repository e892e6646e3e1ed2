/** Computes the effect of a sweep now, in a read-only transaction. */

import type { Db } from '../../database/db.ts'
import type { Guard } from '../model/guard.ts'
import { assignments, condition, keyOf, namesOf, order, signalAt } from './guard-fragments.ts'
import { inTransaction } from './guard-transaction.ts'
import type { GuardedTable } from './guarded-table.ts'
import type { RowKey } from './mark-lost-rows.ts'

export interface Preview {
  count: number
  oldest: { key: RowKey; signalAt: Date }[]
  /** Column and value as the table would store the value. */
  set: Record<string, string | null>
}

const shown = 5

export function previewLost(
  db: Db,
  guard: Guard,
  table: GuardedTable,
  atMostMs: number,
  now: Date | null,
): Promise<Preview> {
  const { names, values } = namesOf(guard, table, now)
  const lost = condition(names)
  const signal = signalAt(names)
  const set = assignments(names)
  const text = `
    with oldest as materialized (
      select ${keyOf(names)} as key, extract(epoch from ${signal}) * 1000 as at, row_number() over () as place
      from (
        select t.ctid, t.* from ${table.quoted} t
        where ${lost}
        order by ${order(names, signal)}
        limit ${shown}
      ) t
    )
    select (select count(*) from ${table.quoted} t where ${lost})::float8 as count,
      coalesce((select jsonb_agg(jsonb_build_object('key', key, 'at', at) order by place) from oldest), '[]') as oldest,
      array[${set.map(({ value }) => `(${value})::text`).join(', ')}]::text[] as set`
  return inTransaction(db, guard, table, atMostMs, async client => {
    await client.query('set transaction read only')
    const [row] = (await client.query(text, values)).rows as {
      count: number
      oldest: { key: RowKey; at: number }[]
      set: (string | null)[]
    }[]
    return {
      count: row!.count,
      oldest: row!.oldest.map(({ key, at }) => ({ key, signalAt: new Date(at) })),
      set: Object.fromEntries(set.map(({ column }, i) => [column.name, row!.set[i]!])),
    }
  })
}
