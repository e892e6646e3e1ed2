/**
 * The invariants after every step (docs/testing.md): a function for each invariant, which compares the snapshots of the tables
 * before and after the step and returns the violations in words.
 */
import type pg from 'pg'
import { batchAudit } from '../test/support/batches.ts'
import { mostAtOnce, mostFailures } from './work.ts'

interface JobRow {
  id: string
  kind: string
  state: string
  attempt: number
  failures: number
  crashes: number
  worker: string | null
  batch: string | null
  result: string | null
}

export interface Snapshot {
  jobs: Map<string, JobRow>
  workers: string[]
  batches: { id: string; state: string }[]
  checkpoints: Set<string>
  /** Batches whose counters differ from a recount. */
  miscounted: { id: string }[]
  /** Groups of the narrow queue with more than may run. */
  crowded: { key: string; running: number }[]
  /** Jobs with more than 1 effect of the transaction, and succeeded jobs with 0 effects. */
  effects: { job: string; n: number; state: string }[]
  /** Slots of the schedule with 2 or more jobs. */
  doubled: { slot: string; n: number }[]
}

const jobs = `
  select id::text, kind, state, attempt, failures, crashes, worker_id as worker, batch_id::text as batch, result::text as result
  from retoma.job order by id`
const workers = `select id from retoma.worker`
const batches = `select id::text, state from retoma.batch order by id`
const checkpoints = `select job_id || '/' || name as name from retoma.checkpoint`
const crowded = `
  select coalesce(group_key, '') as key, count(*)::int as running
  from retoma.job where queue = 'narrow' and state = 'running' and group_key is not null
  group by 1 having count(*) > ${mostAtOnce}`
const effects = `
  select j.id::text as job, j.state, count(e.job)::int as n
  from retoma.job j left join simulated.effect e on e.job = j.id
  where j.kind = 'saved'
  group by 1, 2 having count(e.job) > 1 or (j.state = 'succeeded' and count(e.job) = 0)`
const doubled = `
  select input->>'slot' as slot, count(*)::int as n
  from retoma.job where kind = 'slot' group by 1 having count(*) > 1`

const all = [jobs, workers, batches, checkpoints, batchAudit, crowded, effects, doubled]

export async function lookAt(client: pg.Client): Promise<Snapshot> {
  const answers = (await client.query(all.join(';'))) as unknown as { rows: unknown[] }[]
  const [j, w, b, c, m, g, e, d] = answers.map(({ rows }) => rows) as [
    JobRow[],
    { id: string }[],
    Snapshot['batches'],
    { name: string }[],
    Snapshot['miscounted'],
    Snapshot['crowded'],
    Snapshot['effects'],
    Snapshot['doubled'],
  ]
  return {
    jobs: new Map(j.map(row => [row.id, row])),
    workers: w.map(row => row.id),
    batches: b,
    checkpoints: new Set(c.map(row => row.name)),
    miscounted: m,
    crowded: g,
    effects: e,
    doubled: d,
  }
}

export const isFinal = (state: string) => ['succeeded', 'failed', 'skipped', 'cancelled'].includes(state)

export interface Step {
  before: Snapshot
  after: Snapshot
  /** The workers of the process whose question was answered in this step. */
  own: ReadonlySet<string>
}

/** At most 1 accepted settle per attempt, and 0 after the fence moved. */
function I2({ before, after, own }: Step): string[] {
  return [...after.jobs.values()].flatMap(now => {
    const was = before.jobs.get(now.id)
    if (was === undefined) return []
    const wrong: string[] = []
    if (now.attempt < was.attempt)
      wrong.push(`the attempt of job ${now.id} went back from ${was.attempt} to ${now.attempt}`)
    if (isFinal(was.state) && isFinal(now.state) && (was.state !== now.state || was.result !== now.result))
      wrong.push(`job ${now.id} was ${was.state} and was settled again: ${now.state}`)
    if (now.state === 'succeeded' && was.state !== 'succeeded' && (was.worker === null || !own.has(was.worker)))
      wrong.push(`job ${now.id} (${was.state}, held by ${was.worker}) was settled by one that does not hold it`)
    return wrong
  })
}

/** A named fenced transaction applies once. */
const I4 = ({ after }: Step): string[] =>
  after.effects.map(({ job, n, state }) => `the transaction of job ${job} (${state}) was applied ${n} times`)

/**
 * A finished step never runs again in an attempt which holds the job. Checked when a step begins, before the simulation step
 * is over.
 */
export function I5(last: Snapshot, began: { job: string; attempt: number; step: string }): string[] {
  const { job, attempt, step } = began
  const row = last.jobs.get(job)
  const isHeld = row?.state === 'running' && row.attempt === attempt
  return isHeld && last.checkpoints.has(`${job}/${step}`)
    ? [`step ${step} of job ${job} was finished and began again in attempt ${attempt}`]
    : []
}

/** Batch counters equal a recount in every snapshot. */
const I6 = ({ after }: Step): string[] =>
  after.miscounted.map(batch => `the counters of batch ${batch.id} are not a recount: ${JSON.stringify(batch)}`)

/**
 * A transaction whose connection is cut three times in a row is a failure of the job, because each run may cost
 * money.
 */
const mayFail = ['flaky', 'item', 'saved']

/** Failures and crashes stay within the limits; a job whose handler never throws is never charged. */
const I7 = ({ after }: Step): string[] =>
  [...after.jobs.values()].flatMap(({ id, kind, failures, crashes }) => {
    const most = mayFail.includes(kind) ? mostFailures : 0
    if (failures > most) return [`job ${id} (${kind}) was charged ${failures} failures of ${most}`]
    return crashes > 0 ? [`job ${id} (${kind}) was charged ${crashes} crashes that it did not cause`] : []
  })

/** A schedule slot fires once. */
const I8 = ({ after }: Step): string[] => after.doubled.map(({ slot, n }) => `slot ${slot} fired ${n} times`)

/** Concurrency per key is never exceeded. */
const I9 = ({ after }: Step): string[] =>
  after.crowded.map(({ key, running }) => `${running} jobs of group ${key} run at once, of ${mostAtOnce}`)

export const afterEachStep = { I2, I4, I6, I7, I8, I9 }
