/** Reads how much the groups of a queue use of their limits. */

import type { Db } from '../../database/db.ts'
import { nowParameter } from '../../database/now-parameter.ts'
import { groupLimits } from '../../jobs/sql/group-limits.ts'

/** The use of a group's limits. */
export interface GroupUsage {
  group: string
  running: number
  /** null: no limit. */
  concurrency: number | null
  /** Starts in the current period; null: no rate. */
  starts: number | null
  rate: { limit: number; per: number } | null
  /** No further job of the group starts now. */
  full: boolean
}

const now = nowParameter(3)

const view = {
  name: 'view_group_usage',
  text: `
    select u.group_key as "group", u.running, l.concurrency, case when l.rate is not null then u.starts end as starts,
      case when l.rate is not null then jsonb_build_object('limit', l.rate, 'per', extract(epoch from l.per) * 1000) end as rate,
      coalesce(u.running >= l.concurrency, false) or coalesce(u.starts >= l.rate, false) as "full"
    from retoma.queue q
      join retoma.limit_counter g on g.queue = q.name and g.group_key <> ''
      cross join lateral (${groupLimits('q.limits', 'g.group_key')}) l
      cross join lateral (
        select g.group_key, g.running, coalesce((
          select sum(h.n) from unnest(g.hit_at, g.hit_n) as h (at, n) where h.at > ${now} - l.per
        ), 0)::int as starts
      ) u
    where q.name = $1
    order by "full" desc, u.running desc, u.group_key
    limit $2`,
}

/** The full groups first, then the groups with most running jobs. */
export const viewGroupUsage = (db: Db, queue: string, limit: number, at: Date | null): Promise<GroupUsage[]> =>
  db.run<GroupUsage>(view, [queue, limit, at])
