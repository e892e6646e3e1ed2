/** Shows, lists and erases jobs of the planner, and downloads their results. */
import { RetomaError } from 'retoma'
import { download, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { demandCsv } from '../demand/csv-result.ts'
import type { ExtractedDemand } from '../demand/index.ts'
import { eraseJob } from '../erase.ts'
import { errors } from '../errors.ts'
import { scheduleCsv } from '../schedule/csv.ts'
import type { Schedule } from '../schedule/solve.ts'
import { listJobs, type PlannerJob } from '../store/jobs.ts'
import { sizes, type ThumbnailSize, type Thumbnails } from '../thumbnail/index.ts'
import { jobWire, kind, listedJob, listedWire, plannerJob, status } from '../wire.ts'
import { idParams, jobOf, noJob, pageQuery, placeOf, tag } from './shared.ts'

function missing({ id, status, kind }: PlannerJob, what: string): RetomaError {
  return new RetomaError(errors.planner_result_missing, { id, status, kind, what })
}

function csvOf(job: PlannerJob): string {
  if (job.status === 'COMPLETED' && job.kind === 'generate-schedule') return scheduleCsv(job.result as Schedule)
  if (job.status === 'COMPLETED' && job.kind === 'extract-demand') return demandCsv(job.result as ExtractedDemand)
  throw missing(job, 'CSV')
}

export const jobRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/planner/jobs',
    name: 'listPlannerJobs',
    tag,
    summary: 'Lists the jobs of the planner, the newest first',
    role: 'viewer',
    query: z.strictObject({ status: status.optional(), kind: kind.optional(), ...pageQuery }),
    answer: z.object({ items: z.array(listedJob), next: z.string().nullable() }),
    heavy: true,
    async run({ engine, query: { status = null, kind = null, after, limit } }) {
      const found = await listJobs(engine, { after: placeOf(after), status, kind, limit: limit + 1 })
      const items = found.slice(0, limit)
      return { items: items.map(listedWire), next: found.length > limit ? items.at(-1)!.id : null }
    },
  }),
  route({
    method: 'get',
    path: '/api/planner/jobs/{id}',
    name: 'getPlannerJob',
    tag,
    summary: 'Gets a job of the planner with status, heartbeat, progress and result',
    role: 'viewer',
    params: idParams,
    answer: plannerJob,
    errors: ['not_found'],
    run: async ({ engine, params: { id } }) => jobWire(await jobOf(engine, id)),
  }),
  route({
    method: 'get',
    path: '/api/planner/jobs/{id}/result.csv',
    name: 'downloadPlannerResult',
    tag,
    summary: 'Exports the schedule or the demand as CSV for a spreadsheet: UTF-8, semicolons, no formulas',
    role: 'viewer',
    params: idParams,
    answers: 'text/csv',
    errors: ['not_found', errors.planner_result_missing],
    heavy: true,
    async run({ engine, params: { id }, headers }) {
      const job = await jobOf(engine, id)
      headers.set('content-type', 'text/csv; charset=utf-8')
      headers.set('content-disposition', `attachment; filename="${job.kind}-${job.id}.csv"`)
      return new Response(csvOf(job), { headers })
    },
  }),
  route({
    method: 'get',
    path: '/api/planner/jobs/{id}/thumbnails/{size}',
    name: 'downloadThumbnail',
    tag,
    summary: `A thumbnail as WebP: small (${sizes.small} pixels) or large (${sizes.large} pixels)`,
    role: 'viewer',
    params: z.object({ id: z.string(), size: z.string() }),
    answers: 'application/octet-stream',
    errors: ['not_found', errors.planner_result_missing],
    async run({ engine, params: { id, size } }) {
      const job = await jobOf(engine, id)
      const isThumbnail = job.status === 'COMPLETED' && job.kind === 'generate-thumbnail' && Object.hasOwn(sizes, size)
      const file = isThumbnail ? (job.result as Thumbnails).thumbnails[size as ThumbnailSize].file : null
      const opened = file === null ? null : await engine.files.open(file)
      if (opened === null) throw missing(job, `thumbnail "${size}"`)
      return download(opened)
    },
  }),
  route({
    method: 'delete',
    path: '/api/planner/jobs/{id}',
    name: 'erasePlannerJob',
    tag,
    summary: 'Erases a job with its input, result, files, failures and events; an unfinished job is cancelled first',
    role: 'operator',
    params: idParams,
    status: 204,
    errors: ['not_found'],
    async run({ engine, params: { id } }) {
      const { id: found } = await jobOf(engine, id)
      // false: another request has erased the job in between.
      if (!(await eraseJob(engine, found))) throw noJob(id)
    },
  }),
]
