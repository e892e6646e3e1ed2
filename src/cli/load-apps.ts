/**
 * Loads everything that `up`, `serve` and `worker` run: the user's retoma.config, and the systems that the config names. Read-only
 * commands also get the kinds from here.
 *
 * Invariant: no name has two meanings. Neither a config nor another system may define a kind, batch, schedule, guard, queue of a job or
 * error code of a system; a config may set the concurrency and the limits of a system's queue.
 */
import { basename } from 'node:path'
import type { LocalizedText } from '../errors/errors.ts'
import type { System } from '../http/index.ts'
import type { Context } from './command-context.ts'
import { badConfig } from './config-errors.ts'
import { type LoadedConfig, loadConfig, type Registered, registered } from './load-config.ts'
import { both } from './messages/index.ts'

export interface LoadedApps extends Registered {
  /** The user's config alone, without the systems. */
  readonly config: LoadedConfig
  readonly systems: readonly System[]
  /** Names of the outside services that the systems and the config simulate. */
  readonly simulated: readonly string[]
}

export async function loadApps(context: Pick<Context, 'folder' | 'configFile'>): Promise<LoadedApps> {
  const config = await loadConfig(context)
  return merged(config, config.systems)
}

export function merged(config: LoadedConfig, systems: readonly System[]): LoadedApps {
  systems.forEach((system, index) => {
    refuseSame(config, config, system)
    for (const earlier of systems.slice(0, index)) refuseSame(config, registered(earlier), system)
  })
  const all: Registered[] = [...systems.map(registered), config]
  return {
    config,
    systems,
    simulated: [...systems.flatMap(each => each.simulated ?? []), ...config.simulated],
    jobs: [...config.jobs, ...systems.flatMap(each => registered(each).jobs)],
    batches: all.flatMap(each => each.batches),
    schedules: all.flatMap(each => each.schedules),
    guards: all.flatMap(each => each.guards),
    routes: all.flatMap(each => each.routes),
    errors: Object.assign({}, ...all.map(each => each.errors)),
    // The config comes last: its values for a system's queue take precedence.
    queues: Object.assign({}, ...all.map(each => each.queues)),
    workerOnly: all.flatMap(each => each.workerOnly),
    limits: Object.assign({}, ...all.map(each => each.limits)),
  }
}

function refuseSame({ file }: LoadedConfig, other: Registered, system: System): void {
  const theirs = registered(system)
  const refuse = (problem: LocalizedText) => badConfig(basename(file ?? ''), problem)
  for (const { kind, queue } of other.jobs) {
    if (theirs.jobs.some(each => each.kind === kind))
      throw refuse(both(word => word.config.systemKind(kind, system.name)))
    if (theirs.jobs.some(each => each.queue === queue))
      throw refuse(both(word => word.config.systemQueue(queue, kind, system.name)))
  }
  for (const what of ['batches', 'schedules', 'guards'] as const) {
    const taken = other[what].find(({ name }) => theirs[what].some(each => each.name === name))
    if (taken !== undefined) throw refuse(both(word => word.config.systemName(taken.name, system.name)))
  }
  for (const [code, error] of Object.entries(other.errors)) {
    if ((theirs.errors[code] ?? error) !== error) throw refuse(both(word => word.config.systemError(code, system.name)))
  }
}
