/** Groups the newest failed jobs of all queues by error fingerprint. Reads at most 1,000 rows of the index of failed jobs. */
import type { Db } from '../../database/db.ts'

/** Failed jobs with the same error fingerprint. */
export interface FailureCause {
  cause: string
  /** Among the 1,000 newest failed jobs. */
  count: number
  code: string | null
  /** The message of the newest of them. */
  message: string
  /** The newest of them. */
  job: string
  queues: string[]
  kinds: string[]
  lastAt: Date
}

const newest = 1000
const mostCauses = 50
const someMessage = 500

// `id > 0`: the condition of the index of failed jobs.
const view = {
  name: 'view_failure_causes',
  text: `
    with last as materialized (
      select id, queue, kind, error, coalesce(error ->> 'cause', '') as cause, finished_at from retoma.job
      where state = 'failed' and id > 0 and kind <> all ($1::text[])
      order by id desc
      limit ${newest}
    )
    select l.cause, l.count::int, l.queues, l.kinds, l.id::text as job, l."lastAt", e.error ->> 'code' as code,
      coalesce(left(e.error ->> 'message', ${someMessage}), '') as message
    from (
        select cause, count(*), max(id) as id, max(finished_at) as "lastAt", array_agg(distinct queue) as queues, array_agg(distinct kind) as kinds
        from last
        group by cause
        order by count(*) desc, max(id) desc
        limit ${mostCauses}
      ) l
      cross join lateral (select error from last where last.id = l.id limit 1) e
    order by l.count desc, l.id desc`,
}

/** At most 50 causes, the most frequent first. */
export const viewFailureCauses = (db: Db, except: readonly string[]): Promise<FailureCause[]> =>
  db.run<FailureCause>(view, [except])
