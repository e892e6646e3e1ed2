/** Calls of the actions on many jobs. A call ends after some seconds; the same call again does the rest. */
import { type Answer, call } from '../../api/client.ts'

export type BulkAction = 'retry' | 'cancel' | 'erase'
type BulkFields = Readonly<Record<string, string | readonly string[]>>
type Result = Answer<'POST /api/v1/jobs/retry'>

function once(action: BulkAction | 'resume', body: Readonly<Record<string, unknown>>): Promise<Result> {
  if (action === 'retry') return call('POST /api/v1/jobs/retry', { body: body as never })
  if (action === 'resume') return call('POST /api/v1/jobs/resume', { body: body as never })
  if (action === 'cancel') return call('POST /api/v1/jobs/cancel', { body: body as never })
  return call('POST /api/v1/jobs/erase', { body: body as never })
}

/** How many jobs the action would change; `done` is false if there are more than were counted. */
export async function countJobs(
  action: BulkAction | 'resume',
  fields: BulkFields,
): Promise<{ changed: number; done: boolean }> {
  const { changed, done } = await once(action, { ...fields, dry_run: true })
  return { changed, done }
}

/** Repeats the call until all jobs were changed, and returns their number. */
export async function runBulk(action: BulkAction | 'resume', fields: BulkFields): Promise<number> {
  let sum = 0
  for (let after: string | null = null; ; ) {
    const place: object = after === null ? {} : { after }
    const { changed, done, next }: Result = await once(action, { ...fields, ...place })
    sum += changed
    if (done) return sum
    after = next
  }
}

const mostIds = 1000

/** Runs the action on these jobs, in whichever of the states that the action takes, and returns how many changed. */
export async function runOn(action: 'retry' | 'cancel', ids: readonly string[]): Promise<number> {
  const states = action === 'retry' ? ['failed', 'skipped', 'cancelled'] : ['waiting', 'running', 'stalled']
  let sum = 0
  for (let first = 0; first < ids.length; first += mostIds) {
    const some = ids.slice(first, first + mostIds)
    for (const state of states) sum += await runBulk(action, { ids: some, state })
  }
  return sum
}
