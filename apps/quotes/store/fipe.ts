/** Keeps the lists and prices of FIPE for their reference month. */
import type { Engine } from 'retoma'
import { clockOf } from 'retoma/http'
import type { JsonValue } from '../providers/types.ts'
import { storableJson } from '../text.ts'

const read = `
  select answer from quotes.fipe
  where reference = $1 and path = $2 and ($3::int is null or answered_at > coalesce($4::timestamptz, now()) - make_interval(secs => $3))`

/** undefined: not kept, or older than `seconds`. */
export async function readFipe(
  home: Engine,
  reference: string,
  path: string,
  seconds: number | null,
): Promise<JsonValue | undefined> {
  const values = [reference, path, seconds, clockOf(home).instant()]
  return (await home.query<{ answer: JsonValue }>(read, values)).rows[0]?.answer
}

const write = `
  insert into quotes.fipe (reference, path, answer, answered_at)
  values ($1, $2, $3::jsonb, coalesce($4::timestamptz, now()))
  on conflict (reference, path) do update set answer = excluded.answer, answered_at = excluded.answered_at`

export async function writeFipe(home: Engine, reference: string, path: string, answer: unknown): Promise<void> {
  await home.query(write, [reference, path, storableJson(answer), clockOf(home).instant()])
}

const prune = `delete from quotes.fipe where answered_at < coalesce($1::timestamptz, now()) - interval '100 days'`

/** Removes months that nobody asks for any more. */
export async function pruneFipe(home: Engine): Promise<void> {
  await home.query(prune, [clockOf(home).instant()])
}
