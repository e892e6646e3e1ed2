/**
 * Decides the isolation of a job's handler: the isolation of the kind, or a child process if the job is suspected of a crash and a child
 * can find the function.
 */
import { crashSuspicionOf } from '../jobs/model/crash-suspicion.ts'
import type { AnyJob } from '../jobs/model/job.ts'
import type { Isolation } from '../jobs/model/policy.ts'
import type { ConfigPlace, ModuleWork, Work } from './child-protocol.ts'
import { type Handler, importerOf, loadHandler } from './handler-module.ts'

/** The configuration file that the command line has started this process from. A child can find the kinds of the configuration there. */
export interface ConfiguredHandlers {
  /** The loader for the configuration and its modules: src/cli/child-loader.ts. */
  loader: URL
  config: ConfigPlace
  /** Kinds that depend on this process and cannot run in a child. */
  here: readonly string[]
}

/** One object per engine. */
export class IsolationMode {
  readonly #configured: ConfiguredHandlers | undefined

  /** `configured`: undefined without a configuration file, as in a program that calls `createEngine`. */
  constructor(configured?: ConfiguredHandlers) {
    this.#configured = configured
  }

  /** True if the handler of a kind can run in a child process. */
  runsInProcess(job: AnyJob): boolean {
    return this.workOf(job) !== undefined
  }

  isolationOf(job: AnyJob, suspicion: Parameters<typeof crashSuspicionOf>[0]): Isolation {
    return crashSuspicionOf(suspicion).level === 2 && this.runsInProcess(job) ? 'process' : job.policy.isolation
  }

  /** The location of the handler for a child. */
  workOf({ kind, handler }: AnyJob): Work | undefined {
    if (handler !== null) return this.moduleOf(handler)
    if (this.#configured === undefined || this.#configured.here.includes(kind)) return undefined
    return { config: this.#configured.config, loader: this.#configured.loader.href }
  }

  /** The location of an isolated function for a child. */
  moduleOf(module: string): ModuleWork {
    return { module, loader: this.#configured?.loader.href ?? null }
  }

  /** Loads the handler of a kind from its module, to run in this process. */
  async handlerOf({ kind, handler }: AnyJob): Promise<Handler> {
    return loadHandler(kind, handler!, await importerOf(this.#configured?.loader.href ?? null))
  }
}
