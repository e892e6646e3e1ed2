/**
 * Keeps the lists and prices of FIPE for their reference month.
 *
 * Invariant: an answer is read only for the provider that gave the answer (`source`), so no simulated price is ever a price of FIPE.
 */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'
import type { JsonValue } from '../providers/types.ts'
import { storableJson } from '../text.ts'

const read = `
  select answer from quotes.fipe
  where source = $1 and reference = $2 and path = $3
    and ($4::int is null or answered_at > coalesce($5::timestamptz, now()) - make_interval(secs => $4))`

export interface FipeKey {
  /** `source` of the provider. */
  source: string
  reference: string
  path: string
}

/** undefined: not kept, or older than `seconds`. */
export async function readFipe(
  home: Engine,
  { source, reference, path }: FipeKey,
  seconds: number | null,
): Promise<JsonValue | undefined> {
  const values = [source, reference, path, seconds, clockOf(home).instant()]
  return (await home.query<{ answer: JsonValue }>(read, values)).rows[0]?.answer
}

const write = `
  insert into quotes.fipe (source, reference, path, answer, answered_at)
  values ($1, $2, $3, $4::jsonb, coalesce($5::timestamptz, now()))
  on conflict (source, reference, path) do update set answer = excluded.answer, answered_at = excluded.answered_at`

export async function writeFipe(home: Engine, { source, reference, path }: FipeKey, answer: unknown): Promise<void> {
  await home.query(write, [source, reference, path, storableJson(answer), clockOf(home).instant()])
}

const prune = `delete from quotes.fipe where answered_at < coalesce($1::timestamptz, now()) - interval '100 days'`

/** Removes months that nobody asks for any more. */
export async function pruneFipe(home: Engine): Promise<void> {
  await home.query(prune, [clockOf(home).instant()])
}
