/**
 * Creates jobs of the planner: a schedule from JSON, demand and thumbnails from an upload.
 *
 * Invariant: a job answered with 202 exists with its file, once for each Idempotency-Key. The rows, the job and the owner of the file are
 * written in one transaction; a request that ends before leaves a file that the janitor removes.
 */
import { type AnyJob, type Engine, isRetomaError, type JobTransaction, localized, megabytes, RetomaError } from 'retoma'
import { type Call, once, type Route, route } from 'retoma/http'
import { z } from 'zod'
import { errors } from '../errors.ts'
import type { PlannerJobs, Upload } from '../jobs.ts'
import { problem } from '../schedule/problem.ts'
import { insertJob, type PlannerJob } from '../store/jobs.ts'
import { tag } from './shared.ts'

const largestProblem = megabytes(1)
const largestFile = megabytes(100)

const made = z.object({ id: z.string() })

async function make(
  engine: Engine,
  tx: JobTransaction,
  job: AnyJob,
  input: unknown,
  { by, file }: { by: string; file?: string },
): Promise<{ status: 202; value: { id: string } }> {
  const { id } = await engine.enqueue(job, input as never, { tx })
  await insertJob(engine, tx, { id, kind: job.kind as PlannerJob['kind'], by })
  if (file !== undefined) await engine.files.keep([file], { job: id, tx })
  return { status: 202, value: { id } }
}

/** The only file of the form. */
async function received({ engine, upload }: Call): Promise<Upload & { sha256: string }> {
  let found: (Upload & { sha256: string }) | undefined
  for await (const { file } of upload ?? []) {
    if (file === undefined) continue
    const { name, type, bytes } = file
    const { id, sha256 } = await engine.files.put(bytes, { name, type, most: largestFile }).catch(error => {
      throw tooLarge(error, name)
    })
    found = { file: id, name, type, sha256: String(sha256) }
  }
  if (found !== undefined) return found
  throw new RetomaError('bad_request', { field: 'file', problem: localized('it is missing', 'está faltando') })
}

const tooLarge = (error: unknown, name: string) =>
  isRetomaError(error, 'file_too_large')
    ? new RetomaError(errors.planner_file_too_large, { name, megabytes: largestFile / megabytes(1) })
    : error

function uploadRoute(job: PlannerJobs['demand'], of: { name: string; summary: string }): Route {
  return route({
    method: 'post',
    path: `/api/planner/${job.kind}`,
    ...of,
    tag,
    role: 'operator',
    // The limit of the form parser does not name the file; our own error does.
    upload: { files: ['file'], required: ['file'], mostFiles: 1, largestFile: largestFile + 1 },
    answer: made,
    status: 202,
    makes: 'exactly',
    errors: ['not_found', errors.planner_file_too_large],
    async run(call) {
      const { engine, who } = call
      const { sha256, ...upload } = await received(call)
      const left = async () => void (await engine.files.remove([upload.file]))
      try {
        const digest = JSON.stringify([upload.name, sha256])
        return await once(call, tx => make(engine, tx, job, upload, { by: who.user, file: upload.file }), {
          digest,
          left,
        })
      } catch (error) {
        // The request was refused, so nothing was created. After a 5xx the file may belong to a job: the janitor can decide.
        if (isRetomaError(error) && error.status < 500) await left()
        throw error
      }
    },
  })
}

export const createRoutes = ({ schedule, demand, thumbnail }: PlannerJobs): readonly Route[] => [
  route({
    method: 'post',
    path: '/api/planner/generate-schedule',
    name: 'generateSchedule',
    tag,
    summary: 'Creates a schedule of shifts from people, shifts, demand and rules',
    role: 'operator',
    body: problem,
    largest: largestProblem,
    answer: made,
    status: 202,
    makes: 'exactly',
    errors: ['not_found'],
    run: call => once(call, tx => make(call.engine, tx, schedule, call.body, { by: call.who.user })),
  }),
  uploadRoute(demand, {
    name: 'extractDemand',
    summary: 'Extracts the demand per weekday and hour from a table of visits (CSV or XLSX)',
  }),
  uploadRoute(thumbnail, {
    name: 'generateThumbnail',
    summary: 'Creates thumbnails of an image or of the first page of a PDF: WebP in two sizes',
  }),
]
