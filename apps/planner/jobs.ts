/**
 * Defines the jobs of the planner and the policy of the seed: a single attempt; a job whose worker died ends as FAILED between 2 and 7 minutes
 * after the last heartbeat; a job that no worker takes ends as FAILED after 24 hours.
 *
 * The watchdog of the engine applies the policy in every process: a worker is dead only after two checks without a heartbeat, which a thread
 * of its own writes. So neither a blocked event loop nor an outage of the database ends a job that lives.
 */
import {
  type AnyJob,
  type Duration,
  defineJob,
  defineSchedule,
  type Engine,
  handlerOf,
  hours,
  type Job,
  megabytes,
  minutes,
  type Schedule,
} from 'retoma'
import { z } from 'zod'
import { extractDemand } from './demand/index.ts'
import { eraseHiddenJobs } from './erase.ts'
import { problem } from './schedule/problem.ts'
import type { Schedule as Shifts } from './schedule/solve.ts'
import { removeOldJobs } from './store/jobs.ts'
import { generateThumbnail } from './thumbnail/index.ts'

export const queue = 'planner'

export interface OrphanTimes {
  /** Time since the last heartbeat after which a RUNNING job is an orphan. Default 2 minutes. */
  orphanAfter: Duration
  /** Interval of `reconcile_orphan_jobs`. Default 5 minutes. */
  sweepEvery: Duration
}

export const seedTimes: OrphanTimes = { orphanAfter: minutes(2), sweepEvery: minutes(5) }

const policyOf = ({ orphanAfter, sweepEvery }: OrphanTimes) =>
  ({
    internal: true,
    queue,
    maxAttempts: 1,
    // The solver has 5 minutes at most, and the questions about colliding rules 70 s, each with 30 s more (schedule/solve-in-thread.ts); a
    // process with limits of its own reads a file.
    timeout: minutes(15),
    orphanAfter,
    sweepEvery,
    onOrphan: 'fail',
    maxWait: hours(24),
    messages: {
      orphan: 'orphan: job RUNNING sem heartbeat; worker provavelmente morreu',
      overdue: 'orphan: job PENDING há mais de 24 h; nenhum worker o pegou',
    },
  }) as const

/** An upload, by the id of the file. */
const upload = z.object({ file: z.string(), name: z.string(), type: z.string() })
export type Upload = z.output<typeof upload>

// Only tests run this file from the TypeScript source, which Node 20 cannot read; the child then runs the built file.
const generate = new URL(
  import.meta.url.endsWith('.ts') ? './dist/schedule/generate.js' : './schedule/generate.js',
  import.meta.url,
)

export interface PlannerJobs {
  schedule: Job<z.input<typeof problem>, Shifts>
  demand: Job<Upload>
  thumbnail: Job<Upload>
  schedules: readonly Schedule[]
}

export function createPlannerJobs(times: OrphanTimes, engine: () => Engine): PlannerJobs {
  const policy = policyOf(times)
  const schedule = defineJob({
    ...policy,
    kind: 'generate-schedule',
    input: problem,
    handler: handlerOf<typeof import('./schedule/generate.ts')>(generate),
    isolation: 'process',
    memory: megabytes(1024),
  })
  const demand = defineJob({
    ...policy,
    kind: 'extract-demand',
    input: upload,
    run: (ctx, input) => extractDemand(ctx, input),
  })
  const thumbnail = defineJob({
    ...policy,
    kind: 'generate-thumbnail',
    input: upload,
    run: (ctx, input) => generateThumbnail(ctx, engine(), input),
  })
  const reconcile = defineJob({
    kind: 'reconcile_orphan_jobs',
    internal: true,
    queue,
    timeout: minutes(5),
    run: () => reconcileOrphans(engine(), [schedule, demand, thumbnail]),
  })
  return {
    schedule,
    demand,
    thumbnail,
    schedules: [
      defineSchedule({
        name: 'reconcile_orphan_jobs',
        every: times.sweepEvery,
        job: reconcile,
        input: undefined,
        catchUp: 'once',
        options: { key: 'reconcile_orphan_jobs', priority: 0 },
      }),
    ],
  }
}

/**
 * Ends the orphans that are due, without the wait for the next sweep of the watchdog, finishes interrupted erasures, and names the kinds
 * whose jobs no worker takes. The watchdog makes the same sweep in every process, so that orphans end also while no worker of the planner is left to run this job.
 */
async function reconcileOrphans(engine: Engine, jobs: readonly AnyJob[]) {
  let marked = 0
  for (const job of jobs) marked += (await engine.jobs.recoverOrphans(job)).length
  await eraseHiddenJobs(engine)
  while ((await removeOldJobs(engine)) > 0);
  const starved = (await engine.metrics.findings()).filter(
    ({ verdict, facts }) => verdict === 'starved' && facts.queue === queue,
  )
  return { marked, pending_without_worker: starved.map(({ facts }) => facts.kind as string) }
}
