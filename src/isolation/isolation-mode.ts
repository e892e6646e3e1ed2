/**
 * Decides the isolation of a job's handler: the isolation of the kind, or a child process if the job is suspected of a crash and a child
 * can find the function.
 */
import { crashSuspicionOf } from '../jobs/model/crash-suspicion.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Isolation } from '../jobs/model/policy.ts'
import type { ConfigPlace, ModuleWork, Work } from './child-protocol.ts'
import { type Handler, importerOf, loadHandler } from './handler-module.ts'

/** The loader for the configuration and its modules: src/cli/child-loader.ts. */
interface Configured {
  loader: URL
  config: ConfigPlace
  /** Kinds that depend on this process and cannot run in a child. */
  here: readonly string[]
}

let configured: Configured | undefined

/**
 * Sets the configuration of this process: a child can find the kinds there, except the kinds of `here`. Called once by the command line.
 */
export function startedFrom(loader: URL, config: ConfigPlace, here: readonly string[] = []): void {
  configured = { loader, config, here }
}

/** True if the handler of a kind can run in a child process. */
export const runsInProcess = (job: AnyJob): boolean => workOf(job) !== undefined

export const isolationOf = (job: AnyJob, care: Parameters<typeof crashSuspicionOf>[0]): Isolation =>
  crashSuspicionOf(care).level === 2 && runsInProcess(job) ? 'process' : job.policy.isolation

/** The location of the handler for a child. */
export function workOf({ kind, handler }: AnyJob): Work | undefined {
  if (handler !== null) return moduleOf(handler)
  if (configured === undefined || configured.here.includes(kind)) return undefined
  return { config: configured.config, loader: configured.loader.href }
}

/** The location of an isolated function for a child. */
export const moduleOf = (module: string): ModuleWork => ({ module, loader: configured?.loader.href ?? null })

/** Loads the handler of a kind from its module, to run in this process. */
export const handlerOf = async ({ kind, handler }: AnyJob): Promise<Handler> =>
  loadHandler(kind, handler!, await importerOf(configured?.loader.href ?? null))
