/**
 * Loads everything that `up`, `serve` and `worker` run: the user's retoma.config and, unless the config says `systems: false`, Retoma's
 * own systems (apps/). Read-only commands also get the kinds from here.
 *
 * Invariant: no name has two meanings. A config must not define a kind, batch, schedule, guard, queue of a job or error code of a system;
 * a config may set the concurrency and the limits of a system's queue.
 */
import { basename } from 'node:path'
import type { LocalizedText } from '../errors/errors.ts'
import type { System } from '../http/index.ts'
import type { Settings } from '../settings/index.ts'
import type { Context } from './command-context.ts'
import { badConfig } from './config-errors.ts'
import { type LoadedConfig, loadConfig, type Registered, registered } from './load-config.ts'
import { both } from './messages/index.ts'

export interface LoadedApps extends Registered {
  /** The user's config alone, without the systems. */
  readonly config: LoadedConfig
  readonly systems: readonly System[]
}

export async function loadApps(context: Pick<Context, 'folder' | 'configFile' | 'settings'>): Promise<LoadedApps> {
  const config = await loadConfig(context)
  return merged(config, config.systems ? await openSystems(context.settings) : [])
}

export function merged(config: LoadedConfig, systems: readonly System[]): LoadedApps {
  for (const system of systems) refuseSame(config, system)
  const all: Registered[] = [...systems.map(registered), config]
  return {
    config,
    systems,
    jobs: [...config.jobs, ...systems.flatMap(each => registered(each).jobs)],
    batches: all.flatMap(each => each.batches),
    schedules: all.flatMap(each => each.schedules),
    guards: all.flatMap(each => each.guards),
    routes: all.flatMap(each => each.routes),
    errors: Object.assign({}, ...all.map(each => each.errors)),
    // The config comes last: its values for a system's queue take precedence.
    queues: Object.assign({}, ...all.map(each => each.queues)),
    limits: Object.assign({}, ...all.map(each => each.limits)),
  }
}

type Open = (options: object) => System

/** Imported by address, because the systems are built separately, against the published package. */
async function openSystems(settings: Settings): Promise<System[]> {
  const place = import.meta.url.endsWith('.ts') ? ['../../apps', 'ts'] : ['../apps', 'js']
  const load = async (name: string, open: string): Promise<Open> => {
    const { href } = new URL(`${place[0]}/${name}/index.${place[1]}`, import.meta.url)
    return ((await import(/* @vite-ignore */ href)) as Record<string, Open>)[open]!
  }
  const createClassifier = await load('classifier', 'createClassifier')
  return [createClassifier({ openRouter: openRouterOf(settings) })]
}

const openRouterOf = (settings: Settings) => ({
  key: settings.OPENROUTER_API_KEY,
  model: settings.OPENROUTER_MODEL,
  baseUrl: settings.OPENROUTER_BASE_URL,
  concurrency: settings.OPENROUTER_CONCURRENCY,
  requestsPerMinute: settings.OPENROUTER_REQUESTS_PER_MINUTE,
})

function refuseSame(config: LoadedConfig, system: System): void {
  const theirs = registered(system)
  const refuse = (problem: LocalizedText) => badConfig(basename(config.file ?? ''), problem)
  for (const { kind, queue } of config.jobs) {
    if (theirs.jobs.some(each => each.kind === kind))
      throw refuse(both(word => word.config.systemKind(kind, system.name)))
    if (theirs.jobs.some(each => each.queue === queue))
      throw refuse(both(word => word.config.systemQueue(queue, kind, system.name)))
  }
  for (const what of ['batches', 'schedules', 'guards'] as const) {
    const taken = config[what].find(({ name }) => theirs[what].some(each => each.name === name))
    if (taken !== undefined) throw refuse(both(word => word.config.systemName(taken.name, system.name)))
  }
  for (const [code, error] of Object.entries(config.errors)) {
    if ((theirs.errors[code] ?? error) !== error) throw refuse(both(word => word.config.systemError(code, system.name)))
  }
}
