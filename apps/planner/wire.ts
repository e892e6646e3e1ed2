/** Turns jobs of the planner into JSON for HTTP: the names are the seed's. */
import { z } from 'zod'
import type { ListedJob, PlannerJob } from './store/jobs.ts'

const kinds = ['generate-schedule', 'extract-demand', 'generate-thumbnail'] as const
export const kind = z.enum(kinds)
export const status = z.enum(['PENDING', 'RUNNING', 'COMPLETED', 'FAILED'])
const instant = z.iso.datetime().meta({ description: 'ISO 8601, UTC' })

const base = {
  id: z.string(),
  kind,
  status,
  created_at: instant,
  started_at: instant.nullable(),
  completed_at: instant.nullable(),
  last_heartbeat_at: instant.nullable().meta({
    description: 'heartbeat of the worker while RUNNING, at most 30 s old; frozen at the end',
  }),
  error_message: z.string().nullable(),
  progress: z.record(z.string(), z.unknown()).nullable(),
}

export const listedJob = z.object(base).meta({ id: 'ListedPlannerJob' })
export const plannerJob = z.object({ ...base, result: z.json() }).meta({ id: 'PlannerJob' })

const iso = (at: Date | null) => at?.toISOString() ?? null

export const listedWire = (job: ListedJob) => ({
  id: job.id,
  kind: job.kind,
  status: job.status,
  created_at: iso(job.created_at),
  started_at: iso(job.started_at),
  completed_at: iso(job.completed_at),
  last_heartbeat_at: iso(job.last_heartbeat_at),
  error_message: job.error_message,
  progress: job.progress,
})

export const jobWire = (job: PlannerJob) => ({ ...listedWire(job), result: job.result ?? null })
