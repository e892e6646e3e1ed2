/**
 * Hides the jobs and batches of private kinds (`private: true`) from everybody but admins, and also how many there are: such jobs are about
 * data of single users, and a number would tell the work of another user.
 *
 * Invariant: without the role admin, a job or a batch of a private kind is as a job or a batch that does not exist, for every route with
 * its id. Lists, actions on many jobs, causes of failures, findings, incidents and events leave the job out. A queue with private kinds
 * is shown without its numbers, and so is a worker of the queue; sums leave the queue out. The private kinds are the kinds of every process
 * on the database, so an app without the code of a kind hides its jobs too.
 */
import type { Engine } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import { localized, RetomaError } from '../../errors/errors.ts'
import type { EngineEvent } from '../../events/model/event.ts'
import type { EngineStats, FindingView, QueueView, WorkerView } from '../../index.ts'
import { type MetricFamily, processMetrics, systemMetrics } from '../../metrics/model/metric-table.ts'
import type { Principal, Route } from '../route.ts'

type Who = Pick<Principal, 'role'>

/** The kinds whose jobs the principal does not see. */
export const hiddenKinds = async (engine: Engine, { role }: Who): Promise<readonly string[]> =>
  role === 'admin' ? [] : (await internalsOf(engine).kindFlags()).private

/** The hidden kinds with jobs in a queue. */
export const hiddenKindsIn = async (engine: Engine, { role }: Who, queue: string): Promise<readonly string[]> =>
  role === 'admin' ? [] : await internalsOf(engine).privateKindsIn(queue)

/** The queues whose numbers the principal does not see, because the queues have hidden kinds. */
export const hiddenQueues = async (engine: Engine, { role }: Who): Promise<readonly string[]> =>
  role === 'admin' ? [] : await internalsOf(engine).privateQueues()

/** The same type; the named properties may be null. */
type Without<T, Name extends keyof T> = Omit<T, Name> & { [N in Name]: T[N] | null }

const counts = ['ready', 'scheduled', 'running', 'stalled'] as const
type Count = (typeof counts)[number]
const noCounts: Record<Count, null> = { ready: null, scheduled: null, running: null, stalled: null }

/** The queues; a hidden queue has no counts. */
export async function queuesFor(engine: Engine, who: Who): Promise<Without<QueueView, Count>[]> {
  const hidden = await hiddenQueues(engine, who)
  const queues = await engine.queues.list()
  return queues.map(each => (hidden.includes(each.queue) ? { ...each, ...noCounts } : each))
}

type QueueStats = EngineStats['queues'][number]
interface ShownStats extends Without<Omit<EngineStats, 'queues'>, 'inFlight'> {
  queues: Without<QueueStats, Count>[]
}

/** The numbers of the system without the jobs of hidden kinds. A worker runs jobs of all queues: how many run at all would count them. */
export async function statsFor(engine: Engine, who: Who): Promise<ShownStats> {
  const hidden = await hiddenQueues(engine, who)
  const stats = await engine.metrics.stats({ except: await hiddenKinds(engine, who) })
  if (hidden.length === 0) return stats
  const shown = stats.queues.filter(({ queue }) => !hidden.includes(queue))
  const waits = shown.flatMap(({ oldestReadySeconds }) => oldestReadySeconds ?? [])
  return {
    ...stats,
    queues: stats.queues.map(each =>
      hidden.includes(each.queue) ? { ...each, ...noCounts, oldestReadySeconds: null } : each,
    ),
    oldestReadySeconds: waits.length === 0 ? null : Math.max(...waits),
    inFlight: null,
  }
}

/** Metrics that count jobs of all queues together, or requests of all users. */
const countAll: readonly string[] = [
  systemMetrics.workerRunning,
  systemMetrics.workerAbandoned,
  processMetrics.limited,
].map(({ name }) => name)

/** The metrics without the series of hidden queues, except for the pause, and without the metrics that count jobs of all queues. */
export const metricsFor = (hidden: readonly string[], families: readonly MetricFamily[]): MetricFamily[] =>
  hidden.length === 0
    ? [...families]
    : families.map(family => {
        if (countAll.includes(family.name)) return { ...family, samples: [] }
        if (family.name === systemMetrics.paused.name) return family
        return { ...family, samples: family.samples.filter(({ labels }) => !hidden.includes(labels?.queue ?? '')) }
      })

/** The same route; a route with the id of a job or of a batch answers 404 if the principal does not see the job or the batch. */
export function withoutHiddenJobs(route: Route): Route {
  const refuse = [
    ['/api/v1/jobs/{id}', refuseHiddenJob] as const,
    ['/api/v1/batches/{id}', refuseHiddenBatch] as const,
  ].find(([path]) => route.path.startsWith(path))?.[1]
  if (refuse === undefined) return route
  return {
    ...route,
    async run(call) {
      await refuse(call.engine, call.who, (call.params as { id: string }).id)
      return route.run(call)
    },
  }
}

async function refuseHiddenJob(engine: Engine, who: Who, id: string): Promise<void> {
  const hidden = await hiddenKinds(engine, who)
  if (hidden.length > 0 && hidden.includes((await internalsOf(engine).jobListed(id))?.kind ?? ''))
    throw new RetomaError('not_found', { what: 'job', id })
}

/** Throws 404 for a batch that the principal does not see. */
export async function refuseHiddenBatch(engine: Engine, who: Who, id: string): Promise<void> {
  const hidden = await hiddenKinds(engine, who)
  if (hidden.length > 0 && hidden.includes((await engine.batch(id))?.kind ?? ''))
    throw new RetomaError('not_found', { what: localized('batch', 'lote'), id })
}

/** The findings without slow and starved jobs of hidden kinds. A blocked worker stays, and does not name the hidden job that blocks its loop. */
export async function findingsFor(engine: Engine, who: Who): Promise<FindingView[]> {
  const found = await engine.metrics.findings()
  const hidden = await hiddenKinds(engine, who)
  if (hidden.length === 0) return found
  const shown: FindingView[] = []
  for (const finding of found) {
    const { job, kind } = finding.facts as { job?: string | null; kind?: string }
    if (finding.verdict !== 'hung') {
      if (!hidden.includes(kind ?? '')) shown.push(finding)
    } else if (job == null || (await isShown(engine, hidden, job))) shown.push(finding)
    else shown.push({ ...finding, facts: { ...finding.facts, job: null, attempt: null, stack: null } })
  }
  return shown
}

type ShownWorker = Without<WorkerView, 'running' | 'abandoned'>

/**
 * The workers; a blocked worker does not name a job of a hidden kind, nor its stack. A worker of a hidden queue does not show how many jobs
 * it runs, nor the free slots of the queue.
 */
export async function workersFor(engine: Engine, who: Who): Promise<ShownWorker[]> {
  const found = await engine.workers.list()
  const hidden = await hiddenKinds(engine, who)
  if (hidden.length === 0) return found
  const queues = await hiddenQueues(engine, who)
  return Promise.all(found.map(async worker => withoutCounts(queues, await withoutBlockingJob(engine, hidden, worker))))
}

async function withoutBlockingJob(engine: Engine, hidden: readonly string[], worker: WorkerView): Promise<WorkerView> {
  const job = worker.blocked?.job ?? null
  if (job === null || (await isShown(engine, hidden, job))) return worker
  return { ...worker, blocked: { ...worker.blocked!, job: null, attempt: null, stack: null } }
}

function withoutCounts(hidden: readonly string[], worker: WorkerView): ShownWorker {
  if (!hidden.some(queue => Object.hasOwn(worker.queues, queue))) return worker
  const freeSlots = Object.fromEntries(Object.entries(worker.freeSlots).filter(([queue]) => !hidden.includes(queue)))
  return { ...worker, freeSlots, running: null, abandoned: null }
}

/** The problems; a problem such as a blocked worker does not name a job of a hidden kind. */
export async function problemsFor<T extends { facts: Record<string, unknown> }>(
  engine: Engine,
  hidden: readonly string[],
  problems: readonly T[],
): Promise<T[]> {
  const shownProblem = async (problem: T): Promise<T> => {
    const { job } = problem.facts
    if (hidden.length === 0 || typeof job !== 'string' || (await isShown(engine, hidden, job))) return problem
    return { ...problem, facts: { ...problem.facts, job: null } }
  }
  return Promise.all(problems.map(shownProblem))
}

/** The kind of a job that is gone is unknown: the job counts as hidden. */
async function isShown(engine: Engine, hidden: readonly string[], job: string): Promise<boolean> {
  const kind = await kindOf(engine, 'job', job)
  return kind !== null && !hidden.includes(kind)
}

/** The events that the principal sees. The kind of a job or a batch that is gone is unknown: its events are left out too. */
export function eventsFor(engine: Engine, events: ReturnType<Engine['events']>, who: Who): AsyncIterable<EngineEvent> {
  if (who.role === 'admin') return events
  /** Whether the kinds of the last events are hidden. The private kinds are read anew for a kind that this stream has not met. */
  const isHidden = new Map<string, boolean>()
  const isShown = async ({ jobId, batchId }: EngineEvent) => {
    if (jobId === null && batchId === null) return true
    const kind = jobId === null ? await kindOf(engine, 'batch', batchId!) : await kindOf(engine, 'job', jobId)
    if (kind === null) return (await hiddenKinds(engine, who)).length === 0
    if (!isHidden.has(kind)) isHidden.set(kind, (await hiddenKinds(engine, who)).includes(kind))
    return !isHidden.get(kind)
  }
  const shown: AsyncIterableIterator<EngineEvent> = {
    [Symbol.asyncIterator]: () => shown,
    async next() {
      for (;;) {
        const result = await events.next()
        if (result.done || (await isShown(result.value))) return result
      }
    },
    // Not an async generator: its return() would wait for the next event.
    return: async () => (await events.return?.()) ?? { done: true, value: undefined },
  }
  return shown
}

/** Kinds of the jobs and batches of the last events, for all streams of an engine: each kind is read once. */
const known = new WeakMap<Engine, Map<string, Promise<string | null>>>()
const mostKnown = 1000

function kindOf(engine: Engine, what: 'job' | 'batch', id: string): Promise<string | null> {
  const kinds = known.get(engine) ?? new Map<string, Promise<string | null>>()
  known.set(engine, kinds)
  const name = `${what}:${id}`
  const found = kinds.get(name)
  if (found !== undefined) return found
  const reading = (what === 'job' ? internalsOf(engine).jobListed(id) : engine.batch(id)).then(
    each => each?.kind ?? null,
  )
  const forget = () => kinds.get(name) === reading && kinds.delete(name)
  // The kind of a job never changes. A job that was not found may only be invisible yet: the next event reads the kind again.
  reading.then(kind => kind ?? forget(), forget)
  kinds.set(name, reading)
  if (kinds.size > mostKnown) kinds.delete(kinds.keys().next().value!)
  return reading
}
