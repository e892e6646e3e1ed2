/**
 * Reads the stored incidents for people. Writes nothing. view-problems.ts reads the problems of this moment.
 */

import type { Db } from '../../database/db.ts'
import type { IncidentEvent, NoticeSeverity } from '../model/notice.ts'
import type { IncidentFacts } from '../model/notice-sentences.ts'

const readMs = 5000

/** A stored incident. */
export interface IncidentRow {
  id: string
  event: IncidentEvent
  subject: string
  severity: NoticeSeverity
  facts: IncidentFacts
  since: Date
  foundAt: Date
  /** null: the incident is open. */
  resolvedAt: Date | null
}

const list = {
  name: 'incident_list',
  text: `
    select i.id::text, i.event, i.subject, i.severity, i.facts, i.since, i.found_at as "foundAt", i.resolved_at as "resolvedAt"
    from retoma.incident i
    where i.id < $1 and (not $2 or i.resolved_at is null) and (cardinality($4::text[]) = 0
      or coalesce(i.facts ->> 'kind', '') <> all ($4::text[]) and not coalesce(i.facts -> 'kinds', '[]') ?| $4::text[]
        and i.event <> 'jobs.stuck' and i.subject <> 'more')
    order by i.id desc
    limit $3`,
}

const maxId = '9223372036854775807'

/** The newest first. */
export const viewIncidents = (
  db: Db,
  { open, except }: { open: boolean; except: readonly string[] },
  after: string | undefined,
  limit: number,
): Promise<IncidentRow[]> => db.run<IncidentRow>(list, [after ?? maxId, open, limit, except], readMs)
