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

/** With a batch, the API takes the state alone. */
export function queryOf({ state, kind, queue, group, batch, after, before, ref, key, error, worker }: JobFilter) {
  const ofState: { state?: JobState } = isJobState(state) ? { state } : {}
  if (batch !== undefined) return { ...ofState, batch_id: batch }
  const times = { created_after: instantOf(after), created_before: instantOf(before) }
  return { ...ofState, ...given({ kind, queue, group_key: group, ref, key, error, worker, ...times }) }
}

/** The fields that an action on many takes; undefined if the filter has other fields, or none. */
export function bulkOf({ state, kind, queue, group, batch, after, before, ref, key, error, worker }: JobFilter) {
  if (ref !== undefined || key !== undefined || worker !== undefined) return undefined
  const ofBatch = { batch_id: batch, created_before: instantOf(before) }
  const ofAll = {
    kind,
    queue,
    group_key: group,
    error,
    created_after: instantOf(after),
    created_before: instantOf(before),
  }
  const fields: Readonly<Record<string, string>> = given(batch === undefined ? ofAll : ofBatch)
  return Object.keys(fields).length === 0 && state === undefined ? undefined : fields
}
