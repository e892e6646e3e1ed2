/**
 * Reads the policy overrides of batches: for workers, and as SQL fragments for statements that check jobs without their
 * code.
 *
 * Invariant: the policy of a job is the kind's policy with `batch.policy -> 'items'` or `job.policy_override` laid over it, option by
 * option; an override has only the options that differ, and an item of a batch has no override of its own. An override of a batch never changes after the batch is created, so reading needs no
 * lock. The fragments find the batch by primary key, once per job or batch, never by a join: for a join the planner may
 * read all batches.
 */

import type { Db } from '../../database/db.ts'
import type { JobPolicy } from '../model/policy.ts'

const itemsOf = (batch: string): string => `(select policy -> 'items' from retoma.batch where id = ${batch})`

/** The policy of the row `job`. The row `kind` may be missing. */
export const policyInForce = (kind: string, job: string): string =>
  `(coalesce(${kind}.policy, '{}') || coalesce(${itemsOf(`${job}.batch_id`)}, ${job}.policy_override, '{}'))`

/** Batches that may still have waiting or running jobs. */
export const isOpen = `(finished_at is null or cascade is not null)`

/** Open batches that override at least one of `options`. */
export const overriding = (...options: (keyof JobPolicy)[]): string =>
  `${isOpen} and policy -> 'items' ?| array[${options.map(option => `'${option}'`).join(', ')}]`

const read = {
  name: 'policy_override_read',
  text: `select id::text as id, policy -> 'items' as items from retoma.batch where id = any ($1::bigint[])`,
}

/** Returns overrides by batch id. null: no override. A missing entry: no such batch. */
export async function readOverrides(
  db: Db,
  batches: readonly string[],
): Promise<Map<string, Partial<JobPolicy> | null>> {
  const rows = await db.run<{ id: string; items: Partial<JobPolicy> | null }>(read, [batches])
  return new Map(rows.map(({ id, items }) => [id, items]))
}
