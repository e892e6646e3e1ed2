/**
 * What a batch asks for its items in place of what their kind says, as parts of SQL: for claims, which hand it to the worker, and
 * for all who judge a job without its code.
 *
 * Invariant: the policy in force for a job is its kind's with `batch.policy -> 'items'` laid over it, option by option; that has
 * only what was asked for. It never changes after the batch was made, so it may be read apart from any lock. A batch is found by
 * its primary key, once for each job or batch that is asked about: never by a join, for which the planner may read them all.
 */

const itemsOf = (batch: string): string => `(select policy -> 'items' from retoma.batch where id = ${batch})`

/** Of a row `job` and the row `kind` of its kind, which may be missing. */
export const policyInForce = (kind: string, job: string): string =>
  `(coalesce(${kind}.policy, '{}') || coalesce(${itemsOf(`${job}.batch_id`)}, '{}'))`

/** A part of a `with` for claims, behind countBegun: what the batches of what was claimed ask for, each read once. */
export const overridesBegun = `
  override as materialized (
    select jsonb_object_agg(batch_id, ${itemsOf('g.batch_id')}) as by_batch from begun g
  )`

/** What the batch of a claimed row asks for; null: nothing, or it has no batch. */
export const overrideOf = (taken: string): string =>
  `case when ${taken}.batch_id is not null then (select by_batch from override) -> ${taken}.batch_id::text end`

/** The batches of which something may still run or wait. */
const isOpen = `(finished_at is null or todo is not null)`

/** Of them those that ask for anything; or for one of these options. */
export const overriding = (...options: string[]): string =>
  options.length === 0
    ? `${isOpen} and policy ? 'items'`
    : `${isOpen} and policy -> 'items' ?| array[${options.map(option => `'${option}'`).join(', ')}]`
