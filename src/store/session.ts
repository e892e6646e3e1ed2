/** What every session of ours is told, so that nothing it holds outlives a process that was stopped or cut off for long. */

/** Ends what such a process would otherwise hold for hours: locks that recovery needs. */
const bounds = { idle_in_transaction_session_timeout: `'10s'`, lock_timeout: `'10s'` }

// One plan for each statement, made without looking at its values: ours go by index whatever the tables hold, and a plan
// made for 500 ids in a table of some ten thousand rows reads all of it instead. Nor is a table read whole because it was
// empty when the plan was made, as on the first day of every installation. What is joined to such a table is joined by
// `j.id = any (array[g.id])`: by an equality the planner may still read all of it by an index (docs/adr/0005-plans.md).
const settings = { ...bounds, plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' }

const said = (word: string, all: Record<string, string>) =>
  Object.entries(all).map(([name, value]) => `${word} ${name} = ${value}`)

export const forSession = said('set', settings).join('; ')
export const beginWithSettings = ['begin', ...said('set local', settings)].join('; ')

/**
 * A transaction for somebody else's statements: bounded like ours, planned as PostgreSQL likes. The mark is there until that
 * transaction ends, however it ends, and never afterwards.
 */
export const beginMarked = (mark: string): string =>
  ['begin', ...said('set local', bounds), `set local retoma.transaction = '${mark}'`].join('; ')

/** The same for one that only reads, each statement for so long: that one took too long is then PostgreSQL's answer to it. */
export const beginReading = (longestMs: number): string =>
  ['begin read only', ...said('set local', { ...bounds, statement_timeout: String(longestMs) })].join('; ')

/**
 * Before the statement that fences such a transaction: whoever it acts as need not have rights in our schema, and we speak
 * UTF-8. Whatever was set meanwhile, from here on it holds a row that recovery needs: bounded, as at its beginning.
 */
export const beforeFence = ['reset role', ...said('set local', { client_encoding: `'UTF8'`, ...bounds })].join('; ')

/**
 * Behind a pooler the session goes to somebody else next, with all that was set in it. The bounds go with it and hold until
 * the commit: a process may be stopped, or cut off, between its fence and its end.
 */
export const afterFence = ['reset all', ...said('set local', bounds)].join('; ')
