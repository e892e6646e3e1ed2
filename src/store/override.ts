/**
 * What a batch asks for its items in place of what their kind says: for workers, and as parts of SQL for all who judge a job
 * without its code.
 *
 * Invariant: the policy in force for a job is its kind's with `batch.policy -> 'items'` laid over it, option by option; that has
 * only what was asked for. It never changes after the batch was made, so it may be read apart from any lock. A batch is found by
 * its primary key, once for each job or batch that is asked about: never by a join, for which the planner may read them all.
 */
import type { Policy } from '../core/policy.ts'
import type { Db } from './db.ts'

const itemsOf = (batch: string): string => `(select policy -> 'items' from retoma.batch where id = ${batch})`

/** Of a row `job` and the row `kind` of its kind, which may be missing. */
export const policyInForce = (kind: string, job: string): string =>
  `(coalesce(${kind}.policy, '{}') || coalesce(${itemsOf(`${job}.batch_id`)}, '{}'))`

/** The batches of which something may still run or wait. */
const isOpen = `(finished_at is null or todo is not null)`

/** Of them those that ask for one of these options. */
export const overriding = (...options: (keyof Policy)[]): string =>
  `${isOpen} and policy -> 'items' ?| array[${options.map(option => `'${option}'`).join(', ')}]`

const read = {
  name: 'override_read',
  text: `select id::text as id, policy -> 'items' as items from retoma.batch where id = any ($1::bigint[])`,
}

/** By batch; null: it asks for nothing. Not in it: there is no such batch. */
export async function readOverrides(db: Db, batches: readonly string[]): Promise<Map<string, Partial<Policy> | null>> {
  const rows = await db.run<{ id: string; items: Partial<Policy> | null }>(read, [batches])
  return new Map(rows.map(({ id, items }) => [id, items]))
}
