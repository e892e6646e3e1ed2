/** The filter of the list of jobs, as it is in the address, in the query of a list and in the body of an action on many. */
import { isJobState, type JobState } from './job-model.ts'

export const filterNames = [
  'state',
  'kind',
  'queue',
  'group',
  'batch',
  'after',
  'before',
  'ref',
  'key',
  'error',
  'worker',
] as const
export type FilterName = (typeof filterNames)[number]
export type JobFilter = Readonly<Partial<Record<FilterName, string>>>

/** What a person types a text for; an id leads straight to its job. */
export const searchFields = ['ref', 'key', 'id', 'error'] as const
export type SearchField = (typeof searchFields)[number]

const instantOf = (text: string | undefined): string | undefined => {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined
}

const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** The part of the filter that the list applies: with a batch, the API takes the state alone. */
export const appliedOf = (filter: JobFilter): JobFilter =>
  filter.batch === undefined ? filter : given({ state: filter.state, batch: filter.batch })

export function queryOf(filter: JobFilter) {
  const { state, kind, queue, group, batch, after, before, ref, key, error, worker } = appliedOf(filter)
  const times = { created_after: instantOf(after), created_before: instantOf(before) }
  const ofState: { state?: JobState } = isJobState(state) ? { state } : {}
  return { ...ofState, ...given({ kind, queue, group_key: group, batch_id: batch, ref, key, error, worker, ...times }) }
}

/**
 * The fields that an action on many takes besides the state; undefined if the action cannot take exactly the jobs of the list, or if the
 * filter is empty.
 */
export function bulkOf(filter: JobFilter) {
  const { state, ref, key, worker } = filter
  if (ref !== undefined || key !== undefined || worker !== undefined) return undefined
  // The list shows more jobs than such an address asks for.
  if (Object.keys(appliedOf(filter)).length < Object.keys(filter).length) return undefined
  const { state: _, ...fields } = queryOf(filter)
  return Object.keys(fields).length === 0 && !isJobState(state) ? undefined : fields
}
