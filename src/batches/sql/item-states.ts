/**
 * Reads the states of the items of a batch for its map: of every item of a small batch, or of samples of a large one. The cost is bounded
 * by the size of the map, whatever the size of the batch.
 */
import type { Db } from '../../database/db.ts'
import { type ItemRange, stateLetters } from '../model/item-map.ts'

const ranges = {
  name: 'view_item_ranges',
  text: `
    select first_id::float8 as "firstId", last_id::float8 as "lastId", items from retoma.batch_chunk where batch_id = $1 order by n`,
}

/** The id ranges of the batch, in the order of the list. */
export const viewItemRanges = (db: Db, batch: string): Promise<ItemRange[]> => db.run<ItemRange>(ranges, [batch])

const letters = Object.entries(stateLetters)
const letterOf = (state: string) =>
  `case ${state} ${letters.map(([name, letter]) => `when '${name}' then '${letter}'`).join(' ')} end`

const all = {
  name: 'view_item_states',
  text: `
    select coalesce(string_agg(s.letters, '' order by c.n), '') as states
    from retoma.batch_chunk c
      cross join lateral (
        select string_agg(${letterOf('j.state')}, '' order by j.id) as letters
        from retoma.job j
        where j.id between c.first_id and c.last_id and j.batch_id = $1
      ) s
    where c.batch_id = $1`,
}

/** A letter for each item, in the order of the list; erased items have no letter. */
export async function viewItemStates(db: Db, batch: string): Promise<string> {
  const [row] = await db.run<{ states: string }>(all, [batch])
  return row!.states
}

const sampled = {
  name: 'view_item_samples',
  text: `
    select coalesce(string_agg(coalesce(j.letter, '-'), '' order by g.place), '') as states
    from unnest((select $2::bigint[]), (select $3::bigint[])) with ordinality as g (id, last, place)
      left join lateral (
        select ${letterOf('f.state')} as letter
        from (
          select state from retoma.job
          where id >= g.id and id <= g.last and batch_id = $1
          order by id
          limit 1
        ) f
      ) j on true`,
}

/** A letter for each sample: the item at the id or the next item of the same range. */
export async function viewItemSamples(
  db: Db,
  batch: string,
  samples: readonly { id: number; last: number }[],
): Promise<string> {
  const [row] = await db.run<{ states: string }>(sampled, [
    batch,
    samples.map(each => each.id),
    samples.map(each => each.last),
  ])
  return row!.states
}
