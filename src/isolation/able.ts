/**
 * Where a job's handler runs: as its kind says, or in a process of its own when it is suspected of killing its process and
 * its function can be found by one.
 */
import { careOf } from '../core/care.ts'
import type { AnyJob } from '../core/job.ts'
import type { Isolation } from '../core/policy.ts'
import { type Handler, importerOf, loadHandler } from './handler.ts'
import type { ConfigPlace, ModuleWork, Work } from './wire.ts'

/** What loads the configuration, and modules as it does: src/cli/child-loader.ts. */
interface Configured {
  loader: URL
  config: ConfigPlace
  /** Kinds that need what only this process has. */
  here: readonly string[]
}

let configured: Configured | undefined

/** This process works for that configuration: a child can find its kinds there, but those of `here`. Said once, by the command line. */
export function startedFrom(loader: URL, config: ConfigPlace, here: readonly string[] = []): void {
  configured = { loader, config, here }
}

/** Whether a kind's handler can be run in a process of its own. */
export const runsInProcess = (job: AnyJob): boolean => workOf(job) !== undefined

export const isolationOf = (job: AnyJob, care: Parameters<typeof careOf>[0]): Isolation =>
  careOf(care).level === 2 && runsInProcess(job) ? 'process' : job.policy.isolation

/** Where a child finds the function. */
export function workOf({ kind, handler }: AnyJob): Work | undefined {
  if (handler !== null) return moduleOf(handler)
  if (configured === undefined || configured.here.includes(kind)) return undefined
  return { config: configured.config, loader: configured.loader.href }
}

/** Where a child finds a function that a handler calls. */
export const moduleOf = (module: string): ModuleWork => ({ module, loader: configured?.loader.href ?? null })

/** The function of a kind that has it in a module, to be run here. */
export const handlerOf = async ({ kind, handler }: AnyJob): Promise<Handler> =>
  loadHandler(kind, handler!, await importerOf(configured?.loader.href ?? null))
