/** Reads the actions on a batch and on its items from the stored events, the newest first. */
import type { Db } from '../../database/db.ts'
import { type ListPage, pageOf } from '../../lib/values/page.ts'

/** An action on a batch or on an item, by an actor. */
export interface BatchActionView {
  id: string
  at: Date
  /** null: the action is of the batch itself. */
  jobId: string | null
  /** The actor; null: unknown. */
  who: string | null
  /** Such as pause, resume, retry failed, skip. */
  what: string
  data: Readonly<Record<string, unknown>>
}

/** Events that a page reads; most events of a batch are failures of items. */
const walked = 10_000

// By id: an event has its position only after a reader has seen the event. The range of a single value reads the index of the batch alone.
const view = {
  name: 'view_batch_actions',
  text: `
    with walk as materialized (
      select id, at, type, job_id, data from retoma.event
      where batch_id >= $1 and batch_id <= $1 and id + 0 < $2
      order by batch_id desc, seq desc
      limit ${walked}
    )
    select w.id::text, w.at, w.job_id::text as "jobId", w.data ->> 'who' as who, coalesce(w.data ->> 'what', '') as what, w.data - 'who' - 'what' as data
    from walk w
    where w.type = 'action'
    order by w.id desc
    limit $3`,
}

const maxId = '9223372036854775807'

export async function viewBatchActions(
  db: Db,
  batch: string,
  after: string | undefined,
  limit: number,
): Promise<ListPage<BatchActionView>> {
  const rows = await db.run<BatchActionView>(view, [batch, after ?? maxId, limit + 1])
  return pageOf(rows, limit)
}
