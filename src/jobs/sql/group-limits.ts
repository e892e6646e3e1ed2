/** The limits of a group: the limits of a named group replace the limits of every group, each of the two by itself. */

/**
 * Selects (concurrency, rate, per) of the group `key`; every column null: no limit. `limits` is the column of the queue. Jobs without a
 * group have the key '' and no limit.
 */
export const groupLimits = (limits: string, key: string): string => `
  select case when ${key} <> '' then
      coalesce((${limits} #>> array['perGroup', ${key}, 'concurrency'])::int, (${limits} #>> '{perGroup,concurrency}')::int) end as concurrency,
    case when ${key} <> '' then
      coalesce((${limits} #>> array['perGroup', ${key}, 'rate', 'limit'])::int, (${limits} #>> '{perGroup,rate,limit}')::int) end as rate,
    case when ${key} <> '' then make_interval(secs => coalesce((${limits} #>> array['perGroup', ${key}, 'rate', 'per'])::float8,
      (${limits} #>> '{perGroup,rate,per}')::float8) / 1000) end as per`

/** True if the group `key` has a concurrency. */
export const groupHasConcurrency = (limits: string, key: string): string =>
  `(${limits} -> 'perGroup' ? 'concurrency' or coalesce(${limits} #> array['perGroup', ${key}] ? 'concurrency', false))`
