/**
 * Creates the snaps, an application on the engine: an image becomes dimensions, hashes, a luminance histogram, a blur score, colours and the
 * time of the photo, the oldest image first. `snaps()` returns the system for `systems` in a retoma.config, and needs only `retoma` and
 * `retoma/http`.
 */
import type { Engine } from 'retoma'
import type { System } from 'retoma/http'
import { errors } from './errors.ts'
import type { Limits } from './image/index.ts'
import { routesOf } from './routes.ts'
import { readSnapsSettings, type SnapsSettings } from './settings.ts'
import { createSnaps, queue } from './snaps.ts'

export interface SnapsOptions {
  /** Default: the variables SNAPS_* of the environment. */
  settings?: SnapsSettings
  /** The limits of the process that decodes, for tests. */
  limits?: Limits
}

// Tests run this file from the TypeScript source; the package has dist/ beside sql/.
const migrations = new URL(import.meta.url.endsWith('.ts') ? './sql/' : '../sql/', import.meta.url)

export function snaps({ settings = readSnapsSettings(), limits }: SnapsOptions = {}): System {
  let home: Engine | undefined
  const engine = () => {
    if (home === undefined) throw new Error('the snaps have no engine: call attach first')
    return home
  }
  const all = createSnaps(engine, limits)
  return {
    name: 'snaps',
    page: '/snaps/',
    migrations,
    jobs: [all.processSnap],
    schedules: [all.tidy],
    queues: { [queue]: settings.concurrency },
    workerOnly: settings.worker === 'own' ? [queue] : [],
    routes: routesOf(all).map(route => ({ ...route, language: 'pt' as const })),
    errors,
    attach: given => {
      home = given
    },
    attached: [all.tidy.job],
  }
}
