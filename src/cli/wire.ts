/** Jobs, queues and workers as the API shows them: snake_case, ids as strings, instants in ISO 8601 UTC. */
import type { JobDetail, JobView, QueueView, ScheduleView, WorkerView } from '../index.ts'

/** Names of one level only: what lies in an input or a result belongs to the user. */
export const snakeCase = (view: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(view).map(([name, value]) => [name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`), value]),
  )

export const jobWire = (job: JobView) => snakeCase(job)
export const jobDetailWire = ({ history, checkpoints, ...job }: JobDetail) => ({
  ...snakeCase(job),
  history: history.map(snakeCase),
  checkpoints: checkpoints.map(snakeCase),
})
export const queueWire = (queue: QueueView) => snakeCase(queue)
export const workerWire = (worker: WorkerView) => snakeCase(worker)

/** The plan flat: `cron` and `time_zone`, or `every_ms`. */
export const scheduleWire = ({ plan, ...schedule }: ScheduleView) => ({
  ...snakeCase(schedule),
  ...('every' in plan ? { every_ms: plan.every } : { cron: plan.cron, time_zone: plan.timeZone }),
})
