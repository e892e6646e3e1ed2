/** Settings of every session of the engine. They release the locks of a process that is stopped or cut off for long. */

/** Without these bounds such a process could hold locks for hours, and recovery needs the locks. */
const bounds = { idle_in_transaction_session_timeout: `'10s'`, lock_timeout: `'10s'` }

// A generic plan per statement, made without its values: the engine's statements use indexes whatever the tables hold,
// and a plan for 500 ids in a table of about 10,000 rows would read the whole table. Nor is a table read whole because it
// was empty at the time of planning, as on the first day of every installation. Such a table is joined by `j.id = any
// (array[g.id])`: for an equality the planner may still read the whole index (docs/adr/0005-plans.md).
const settings = { ...bounds, plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off' }

const said = (word: string, all: Record<string, string>) =>
  Object.entries(all).map(([name, value]) => `${word} ${name} = ${value}`)

export const forSession = said('set', settings).join('; ')
export const beginWithSettings = ['begin', ...said('set local', settings)].join('; ')

/**
 * Begins a transaction for the user's statements: with the engine's bounds and PostgreSQL's default planning. The setting
 * `retoma.transaction` lasts exactly until the transaction ends, by commit or not.
 */
export const beginMarked = (mark: string): string =>
  ['begin', ...said('set local', bounds), `set local retoma.transaction = '${mark}'`].join('; ')

/**
 * Begins a read-only transaction with a statement timeout, so PostgreSQL itself reports a statement that takes too long.
 */
export const beginReading = (longestMs: number): string =>
  ['begin read only', ...said('set local', { ...bounds, statement_timeout: String(longestMs) })].join('; ')

/**
 * Runs before the fence of such a transaction: the current role may have no rights in the engine's schema, and the engine
 * sends UTF-8. From the fence on the transaction holds a row that recovery needs, so the bounds are set again, as at the
 * beginning.
 */
export const beforeFence = ['reset role', ...said('set local', { client_encoding: `'UTF8'`, ...bounds })].join('; ')

/** The same for a session of the user's pool: only until the commit, and with the role that the user has chosen. */
export const beforeFenceOfUser = said('set local', { client_encoding: `'UTF8'`, ...bounds }).join('; ')
export const afterFenceOfUser = said('set local', bounds).join('; ')

/**
 * Behind a pooler the session serves another client next, so all settings are reset. The bounds are set until the commit:
 * a process may be stopped or cut off between the fence and the commit.
 */
export const afterFence = ['reset all', ...said('set local', bounds)].join('; ')
